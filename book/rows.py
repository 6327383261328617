"""Pictures of the rows of a pattern: book/rows/README.md describes the files that they are drawn from."""
from svg import AMBER, BLUE, INK, PLAIN, QUIET, Picture

# The width of a character of the font, its lines, and the space around a cell.
CHAR, LINE, PAD = 6.05, 22, 7
SIZE = 10
MOST = 78


def cells(line):
    return [cell.strip() for cell in line.removeprefix("* ").split("|")]


def tables(file):
    """Reads the title and the tables: each has a name, a header, rows with their marks, and notes."""
    title, *lines = file.read_text().splitlines()
    if not title.startswith("title: "):
        raise SystemExit(f"{file.name}: the first line is not a title")
    found = []
    for line in filter(str.strip, lines):
        if line.startswith("table: "):
            found.append({"name": line.removeprefix("table: "), "header": None, "rows": [], "notes": []})
        elif line.startswith("note: "):
            found[-1]["notes"].append(line.removeprefix("note: "))
        elif found[-1]["header"] is None:
            found[-1]["header"] = cells(line)
        else:
            row = cells(line)
            if len(row) != len(found[-1]["header"]):
                raise SystemExit(f"{file.name}: a row of another number of cells: {line}")
            found[-1]["rows"].append((line.startswith("* "), row))
    return title.removeprefix("title: "), found


def draw(file):
    title, found = tables(file)
    layouts, width = [], 300.0
    for table in found:
        columns = zip(table["header"], *(row for _, row in table["rows"]))
        widths = [max(map(len, column)) * CHAR + 2 * PAD for column in columns]
        if sum(widths) > MOST * CHAR + 10 * PAD:
            raise SystemExit(f"{file.name}: the rows of {table['name']} are too wide: {sum(widths):.0f}")
        layouts.append(widths)
        texts = [len(note) * 5.6 for note in table["notes"]] + [len(table["name"]) * 7.5]
        width = max(width, sum(widths), *texts)
    height = 14 + sum(30 + LINE * (1 + len(table["rows"])) + 16 * len(table["notes"]) + 8 for table in found)
    picture = Picture(round(width) + 32, height, title)
    y = 10
    for table, widths in zip(found, layouts):
        picture.text(16, y + 18, table["name"], 13, "start", bold=True)
        y += 28
        for at, (mark, row) in enumerate([(None, table["header"]), *table["rows"]]):
            x = 16
            for cell, cell_width in zip(row, widths):
                colors = ("#e4e9ef", PLAIN[1]) if at == 0 else BLUE if not mark else AMBER
                picture.rect(x, y, cell_width, LINE, (colors[0], "#ffffff"), 0, 1)
                picture.text(x + PAD, y + 15, cell, SIZE, "start", INK, bold=at == 0, mono=True)
                x += cell_width
            y += LINE
        for note in table["notes"]:
            picture.text(16, y + 14, note, 11, "start", QUIET)
            y += 16
        y += 10
    return picture
