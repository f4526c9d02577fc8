#!/usr/bin/env python3
"""Draws SVG plots of the figures of `veneer-bench --groups scaling --json FILE`. Needs nothing but Python.

usage: plots.py FILE FOLDER"""

import json
import pathlib
import sys

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 400, 70, 20, 46, 56
COLOURS = ("#1f77b4", "#d62728")
STYLE = "font-family='sans-serif' font-size='13' fill='#333'"


def nice_step(most):
    """A step of 1, 2 or 5 times a power of ten that gives four to ten lines."""
    step = 10.0 ** -6
    while True:
        for factor in (1, 2, 5):
            if most / (step * factor) <= 8:
                return step * factor
        step *= 10


def text(value):
    return f"{value:.10g}"


def plot(title, x_label, y_label, x_ticks, lines):
    """lines: [(name, [(x, y), ...])]; both axes begin at 0."""
    most_x = max(x for _, points in lines for x, _ in points) * 1.04
    most_y = max(y for _, points in lines for _, y in points) * 1.08

    def at(x, y):
        return (LEFT + (WIDTH - LEFT - RIGHT) * x / most_x, HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * y / most_y)

    out = [f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {HEIGHT}' width='{WIDTH}' height='{HEIGHT}'>",
           f"<rect width='{WIDTH}' height='{HEIGHT}' fill='white'/>",
           f"<text x='{WIDTH / 2}' y='24' text-anchor='middle' {STYLE} font-weight='bold'>{title}</text>"]
    step, y = nice_step(most_y), 0.0
    while y <= most_y:
        left, line = at(0, y)
        out.append(f"<line x1='{left:.1f}' y1='{line:.1f}' x2='{WIDTH - RIGHT}' y2='{line:.1f}' stroke='#ddd'/>")
        out.append(f"<text x='{left - 8:.1f}' y='{line + 4:.1f}' text-anchor='end' {STYLE}>{text(round(y, 6))}</text>")
        y += step
    for x in x_ticks:
        column, base = at(x, 0)
        out.append(f"<line x1='{column:.1f}' y1='{base:.1f}' x2='{column:.1f}' y2='{base + 5:.1f}' stroke='#333'/>")
        out.append(f"<text x='{column:.1f}' y='{base + 20:.1f}' text-anchor='middle' {STYLE}>{text(x)}</text>")
    out.append(f"<text x='{(LEFT + WIDTH - RIGHT) / 2}' y='{HEIGHT - 12}' text-anchor='middle' {STYLE}>{x_label}</text>")
    out.append(f"<text x='18' y='{HEIGHT / 2}' text-anchor='middle' transform='rotate(-90 18 {HEIGHT / 2})' {STYLE}>{y_label}</text>")
    for index, (name, points) in enumerate(lines):
        colour = COLOURS[index % len(COLOURS)]
        places = [at(x, y) for x, y in sorted(points)]
        out.append(f"<polyline fill='none' stroke='{colour}' stroke-width='2' points='{' '.join(f'{x:.1f},{y:.1f}' for x, y in places)}'/>")
        out.extend(f"<circle cx='{x:.1f}' cy='{y:.1f}' r='3.5' fill='{colour}'/>" for x, y in places)
        out.append(f"<rect x='{LEFT + 14}' y='{TOP + 4 + 20 * index}' width='14' height='4' fill='{colour}'/>")
        out.append(f"<text x='{LEFT + 36}' y='{TOP + 11 + 20 * index}' {STYLE}>{name}</text>")
    out.append("</svg>")
    return "\n".join(out) + "\n"


def points_of(figures, x, fixed, y):
    """By number of threads: the points of figures whose further numbers are the fixed ones."""
    lines = {}
    for figure in figures:
        more = figure.get("more", {})
        if figure["group"] == "scaling" and all(more.get(key) == value for key, value in fixed.items()):
            lines.setdefault(int(more["threads"]), []).append((x(more), y(figure)))
    return [(f"{threads} thread{'s' if threads > 1 else ''}", sorted(points)) for threads, points in sorted(lines.items())]


def main():
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    figures = json.loads(pathlib.Path(sys.argv[1]).read_text())["figures"]
    folder = pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    dtype = next((figure["name"].split(", ")[2] for figure in figures if figure["group"] == "scaling"), "")
    by_size = points_of(figures, lambda more: more["width"] ** 2 / 1e3, {"batch": 2}, lambda figure: figure["value"])
    by_batch = points_of(figures, lambda more: more["batch"], {"width": 256}, lambda figure: figure["value"] / figure["more"]["batch"])
    rate = points_of(figures, lambda more: more["width"], {"batch": 2}, lambda figure: figure["ratio"])
    if not by_size or not by_batch:
        raise SystemExit("no figures of the group scaling in " + sys.argv[1])
    plots = {"evaluation-by-size.svg": plot(f"One UNet evaluation, batch 2, {dtype}", "thousand pixels", "seconds", [16, 65, 147, 262], by_size),
             "evaluation-by-batch.svg": plot(f"UNet evaluation at 256x256, per row of the batch, {dtype}", "rows", "seconds", [1, 2, 4, 8], by_batch),
             "rate-by-size.svg": plot(f"Rate, as a part of the large matmul's, {dtype}", "width and height in pixels", "part", [128, 192, 256, 320, 384, 512], rate)}
    for name, drawing in plots.items():
        (folder / name).write_text(drawing)
        print(folder / name)


if __name__ == "__main__":
    main()
