"""Pictures for the documentation: narrow enough for a phone, with a background that is readable in every theme."""
import html
import math

INK, FRAME, QUIET = "#1f2933", "#c3cad3", "#52606d"
# Fill and line.
PLAIN, BLUE, GREEN = ("#ffffff", "#7b8794"), ("#e1edfb", "#2f66ad"), ("#e1f3e4", "#2a7a45")
AMBER, RED = ("#fdf0d3", "#9a6200"), ("#fbe4e1", "#b0342a")
FONT = "-apple-system, 'Segoe UI', 'Open Sans', Roboto, Helvetica, Arial, sans-serif"


class Picture:
    def __init__(self, width, height, title):
        self.width, self.height, self.title, self.parts = width, height, title, []

    def rect(self, x, y, width, height, colors=PLAIN, radius=5, line=1.3):
        self.parts.append(f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{radius}" '
                          f'fill="{colors[0]}" stroke="{colors[1]}" stroke-width="{line}"/>')

    def text(self, x, y, text, size=13, anchor="middle", color=INK, bold=False, mono=False):
        family = ' font-family="ui-monospace, Menlo, Consolas, monospace"' if mono else ""
        weight = ' font-weight="600"' if bold else ""
        self.parts.append(f'<text x="{x:g}" y="{y:g}" font-size="{size}" text-anchor="{anchor}" fill="{color}"'
                          f"{weight}{family}>{html.escape(text, quote=False)}</text>")

    def box(self, x, y, width, height, lines, colors=PLAIN, size=13):
        """A box with centered lines; the first one is bold if it ends with an exclamation mark."""
        self.rect(x, y, width, height, colors)
        top = y + height / 2 - (len(lines) - 1) * (size + 4) / 2 + size * 0.36
        for at, line in enumerate(lines):
            self.text(x + width / 2, top + at * (size + 4), line.rstrip("!"), size, bold=line.endswith("!"))

    def line(self, points, color=QUIET, width=1.4, dash=None):
        path = " ".join(f"{x:g},{y:g}" for x, y in points)
        dashes = f' stroke-dasharray="{dash}"' if dash else ""
        self.parts.append(f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="{width}"{dashes}/>')

    def arrow(self, *points, label=None, at=None, anchor="middle", dash=None, color=QUIET):
        """An arrow along the points; the label stands at a place of its own."""
        (x1, y1), (x2, y2) = points[-2:]
        angle = math.atan2(y2 - y1, x2 - x1)
        tip = [(x2 - 9 * math.cos(angle + turn), y2 - 9 * math.sin(angle + turn)) for turn in (0.42, -0.42)]
        self.line([*points[:-1], (x2 - 5 * math.cos(angle), y2 - 5 * math.sin(angle))], color, dash=dash)
        corners = " ".join(f"{x:.1f},{y:.1f}" for x, y in [(x2, y2), *tip])
        self.parts.append(f'<polygon points="{corners}" fill="{color}"/>')
        if label:
            for row, line in enumerate(label.split("\n")):
                self.text(at[0], at[1] + 15 * row, line, 12, anchor, QUIET)

    def __str__(self):
        body = "\n".join(self.parts)
        frame = f'<rect x="0.5" y="0.5" width="{self.width - 1}" height="{self.height - 1}" rx="8" fill="#f9fafc" stroke="{FRAME}"/>'
        return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" width="{self.width}" '
                f'height="{self.height}" role="img" font-family="{FONT}">\n<title>{html.escape(self.title)}</title>\n'
                f"{frame}\n{body}\n</svg>\n")
