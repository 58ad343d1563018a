// The clock of a thread.
#pragma once

namespace swapsvm {

// CPU seconds that this thread has used. They do not depend on what else the machine does.
double thread_cpu_seconds();

}  // namespace swapsvm
