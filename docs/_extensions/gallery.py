"""The setup of each example of the gallery."""

from __future__ import annotations

from pathlib import Path
from typing import Any

STYLE = Path(__file__).parent.parent / "gallery.mplstyle"


def use_style(gallery_conf: dict[str, Any], name: str) -> None:
    """Draw every example in the style of the site."""
    import matplotlib.pyplot as plt

    plt.style.use(STYLE)
