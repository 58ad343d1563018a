"""Work in processes."""

import math
import os

from swapsvm.study.pool import Workers


class Stack:
    """A queue that remembers what it was told."""

    def __init__(self, *tasks):
        self.tasks, self.noted, self.given_up = list(tasks), [], []

    def pop(self):
        return self.tasks.pop(0) if self.tasks else None

    def note(self, task, outcome):
        self.noted.append((task, outcome))

    def give_up(self, task):
        self.given_up.append(task)


def worked(work, queue, jobs):
    done, failed = [], []
    Workers(work, jobs, lambda t, o: done.append((t, o)), lambda t, message: failed.append((t, message))).run(queue)
    return done, failed


def test_outcomes_go_to_the_queue_and_to_the_caller():
    queue = Stack(4.0, 9.0, 16.0)
    done, failed = worked(math.sqrt, queue, 2)
    assert sorted(done) == sorted(queue.noted) == [(4.0, 2.0), (9.0, 3.0), (16.0, 4.0)] and not failed


def test_a_task_that_raises_is_given_up_and_the_others_go_on():
    queue = Stack(4.0, -1.0, 9.0)
    done, failed = worked(math.sqrt, queue, 1)
    assert [task for task, _ in done] == [4.0, 9.0] and queue.given_up == [-1.0]
    assert failed[0][0] == -1.0 and "math domain error" in failed[0][1]


def test_a_task_that_ends_its_process_is_given_up_and_the_others_go_on():
    queue = Stack(3, 4)
    done, failed = worked(os._exit, queue, 1)
    assert not done and queue.given_up == [3, 4] == [task for task, _ in failed]
    assert "BrokenProcessPool" in failed[0][1]


def test_what_comes_up_later_is_done_too():
    class Growing(Stack):
        def note(self, task, outcome):
            super().note(task, outcome)
            if task > 4:
                self.tasks.append(outcome)

    queue = Growing(16.0)
    done, _ = worked(math.sqrt, queue, 2)
    assert done == [(16.0, 4.0), (4.0, 2.0)]
