"""From a matplotlib figure to SVG that may stand inside a page with a strict content-security policy.

Contract: the same drawing gives the same bytes. Text stays text, in the page's own typeface. No inline styles, which the policy
forbids: they become attributes. No addresses, no dates; ids begin with the figure's name, so that several figures share a page.
Colours are those of Okabe and Ito (2008), which colour-blind people tell apart; in print, hatching, dashes and markers do.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable
from xml.etree import ElementTree

BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
BLUE, VERMILLION, PURPLE, GREY = "#0072B2", "#D55E00", "#CC79A7", "#BBBBBB"
WIDTH_PT = 374
"""About a phone's width, so that text is read there as well."""

_STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "srlite",
    "text.parse_math": False,  # an item's code may hold dollar signs
    "font.size": 11.5,
    "font.family": "DejaVu Sans",  # comes with matplotlib: the same widths everywhere
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.8,
    "hatch.linewidth": 0.8,
    "lines.linewidth": 1.6,
    "lines.markersize": 5,
    "legend.frameon": False,
    "legend.fontsize": 10.5,
    "legend.handlelength": 1.9,
    "legend.handletextpad": 0.5,
}
_DROPPED = {"style", "version", "type"}


def drawn(name: str, height_pt: float, draw: Callable) -> str:
    """The SVG element of what `draw(figure)` puts on an empty matplotlib figure. `name`: letters, unique in a page."""
    import matplotlib
    from matplotlib.figure import Figure

    out = io.BytesIO()
    with matplotlib.rc_context(_STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # widths are guessed then; the page's typeface has it
        figure = Figure(figsize=(WIDTH_PT / 72, height_pt / 72), layout="constrained")
        draw(figure)
        figure.savefig(out, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    return tidy(out.getvalue(), name)


def tidy(svg: bytes, name: str) -> str:
    """Matplotlib's SVG as an element of a page."""
    root = ElementTree.fromstring(svg)
    text = svg.decode("utf-8")
    wanted = set(re.findall(r"url\(#([^)]+)\)", text)) | set(re.findall(r'href="#([^"]+)"', text))
    for parent in list(root.iter()):
        for child in list(parent):
            if _local(child.tag) in ("metadata", "style"):
                parent.remove(child)
    for element in root.iter():
        element.tag = _local(element.tag)
        found = _attributes(element, wanted, name)
        element.attrib.clear()
        element.attrib.update(found)
    root.attrib |= {"role": "img", "aria-labelledby": f"{name}-title", "stroke-linejoin": "round", "stroke-linecap": "butt"}
    return ElementTree.tostring(root, encoding="unicode", short_empty_elements=False)


def _local(tag: str) -> str:
    return tag.rpartition("}")[2]


def _attributes(element: ElementTree.Element, wanted: set[str], name: str) -> dict[str, str]:
    """Those that matter, the inline style's among them, with ids made the figure's own."""
    given = {_local(key): value for key, value in element.attrib.items()}
    kept = {key: value for key, value in given.items() if key not in _DROPPED} | _styled(given.get("style", ""))
    if element.tag == "svg":
        return {"viewBox": given["viewBox"]}
    if kept.get("id") not in wanted:
        kept.pop("id", None)
    return {key: _own(key, value, name) for key, value in kept.items()}


def _own(key: str, value: str, name: str) -> str:
    """An id, or what names one, made the figure's own. A colour is neither, though it begins with a #."""
    if key == "id":
        return f"{name}-{value}"
    return f"#{name}-{value[1:]}" if key == "href" else value.replace("url(#", f"url(#{name}-")


def _styled(style: str) -> dict[str, str]:
    """An inline style as attributes; of a typeface only its size and weight."""
    found: dict[str, str] = {}
    for declaration in filter(None, (part.strip() for part in style.split(";"))):
        key, _, value = declaration.partition(":")
        key, value = key.strip(), value.strip()
        if key == "font":
            found["font-size"] = re.search(r"[\d.]+px", value).group()
            if re.search(r"\b(bold|[6-9]00)\b", value):
                found["font-weight"] = "bold"
        elif key != "font-family":
            found[key] = value
    return found
