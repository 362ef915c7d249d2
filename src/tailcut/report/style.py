"""The page's style sheet. Figures take their colors from its variables; see `draw/canvas.py`."""

STYLE = """\
:root {
  color-scheme: light dark;
  --paper: #f6f7f9; --card: #ffffff; --ink: #1b1f24; --muted: #57606a; --rule: #d8dee4;
  --policy: #0072b2; --best: #d55e00; --bound: #949ca6; --static: #009e73; --deadline: #b0558c;
  --informed: #8a6d00; --absent: #c9ced4; --warn: #b3261e; --note: #fff6e0; --note-edge: #e69f00;
}
@media screen and (prefers-color-scheme: dark) {
  :root {
    --paper: #0f1216; --card: #181c21; --ink: #e8eaed; --muted: #a2abb5; --rule: #343b43;
    --policy: #56b4e9; --best: #ff9447; --bound: #7d8792; --static: #2fcf9f; --deadline: #e39cc6;
    --informed: #f0d442; --absent: #3d444c; --warn: #ff8a80; --note: #2b2412; --note-edge: #e69f00;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body {
  margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
}
main { max-width: 75rem; margin: 0 auto; padding: 2.5rem 1.5rem 4rem; }
h1, h2, h3, .source-name { line-height: 1.2; text-wrap: balance; overflow-wrap: anywhere; }
h1 { font-size: 2rem; letter-spacing: -.02em; margin: 0 0 .75rem; }
h2 { font-size: 1.45rem; letter-spacing: -.01em; margin: 0; }
h3 { font-size: 1rem; margin: 0 0 .15rem; }
p { margin: .4rem 0; max-width: 46rem; }
code, pre { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; font-size: .9em; }
p code, dd code, li code { background: color-mix(in srgb, var(--muted) 14%, transparent); padding: .05em .35em;
  border-radius: .25em; overflow-wrap: anywhere; }
pre { margin: .5rem 0 0; padding: .7rem .9rem; background: var(--card); border: 1px solid var(--rule);
  border-radius: .5rem; white-space: pre-wrap; overflow-wrap: anywhere; }
nav ul { padding-left: 1.2rem; }
nav a { color: var(--policy); }
section { margin-top: 3rem; padding-top: 2rem; border-top: 1px solid var(--rule); }
.about, .setting { color: var(--muted); margin: .25rem 0; overflow-wrap: anywhere; }
.lead { font-size: 1.3rem; line-height: 1.4; margin: 1rem 0 .4rem; font-weight: 600; text-wrap: balance;
  overflow-wrap: anywhere; }
.note { max-width: none; margin: .8rem 0; padding: .6rem .9rem; background: var(--note); border-radius: .35rem;
  border-left: 4px solid var(--note-edge); overflow-wrap: anywhere; }
.figures-table { overflow-x: auto; margin: 1.4rem 0; background: var(--card); border: 1px solid var(--rule);
  border-radius: .6rem; }
table { border-collapse: separate; border-spacing: 0; width: 100%; font-size: .88rem;
  font-variant-numeric: tabular-nums; }
th, td { padding: .4rem .7rem; text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; position: sticky; left: 0; background: var(--card); max-width: 17rem;
  white-space: normal; overflow-wrap: anywhere; min-width: 8rem; }
thead th { vertical-align: bottom; color: var(--muted); font-weight: 600; border-bottom: 2px solid var(--rule);
  white-space: pre-line; line-height: 1.25; }
tbody th { font-weight: 400; }
tbody tr + tr > * { border-top: 1px solid color-mix(in srgb, var(--rule) 55%, transparent); }
tbody.bounds { color: var(--muted); }
tbody.bounds tr:first-child > * { border-top: 2px solid var(--rule); }
tr.best > * { font-weight: 700; }
.figures { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 1.2rem; }
figure { margin: 0; padding: 1rem 1.1rem; background: var(--card); border: 1px solid var(--rule); border-radius: .6rem;
  display: flex; flex-direction: column; break-inside: avoid; }
figcaption { color: var(--muted); font-size: .88rem; line-height: 1.4; margin-bottom: .8rem; }
figcaption h3 { color: var(--ink); }
figure svg { display: block; width: 100%; height: auto; margin: 0; }
figure svg text { font-family: system-ui, -apple-system, "Segoe UI", Roboto, Arial, sans-serif !important; }
figure svg image { image-rendering: pixelated; }
dl { display: grid; grid-template-columns: max-content minmax(0, 46rem); gap: .45rem 1.5rem; margin: 1rem 0 0; }
dt { font-weight: 600; }
dd { margin: 0; color: var(--muted); }
@media (max-width: 56rem) { .figures { grid-template-columns: minmax(0, 1fr); } }
@media (max-width: 34rem) {
  main { padding: 1.4rem .9rem 3rem; }
  h1 { font-size: 1.6rem; }
  .lead { font-size: 1.12rem; }
  figure { padding: .8rem .5rem; }
  dl { grid-template-columns: minmax(0, 1fr); gap: .1rem; }
  dd { margin-bottom: .6rem; }
}
@media print {
  body { background: none; font-size: 10pt; }
  main { max-width: none; padding: 0; }
  section { border-top: 0; margin-top: 1rem; padding-top: 0; }
  section[id] + section[id] { break-before: page; }
  .figures { grid-template-columns: repeat(2, minmax(0, 1fr)); gap: .6rem; }
  figure { padding: .5rem; }
  figcaption { font-size: 8pt; }
  .figures-table { overflow: visible; }
  table { font-size: 7.5pt; }
  th, td { padding: .2rem .3rem; }
  h2, h3 { break-after: avoid; }
}
"""
