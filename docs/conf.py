"""How Sphinx makes the manual: `make docs`."""

import re
from pathlib import Path

import ingot

project = "Ingot"
author = "The authors of Ingot"
copyright = "2026, the authors of Ingot"
release = ingot.__version__
version = release

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
]
source_suffix = {".md": "myst-nb", ".rst": "restructuredtext"}
exclude_patterns = ["_build"]
nitpicky = False

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "smartquotes"]
myst_heading_anchors = 3
suppress_warnings = ["myst.xref_missing", "misc.highlighting_failure"]  # links to files of the repository; tracebacks

nb_execution_mode = "force"
nb_execution_timeout = 120
nb_execution_raise_on_error = True
nb_merge_streams = True
nb_execution_show_tb = True

autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
default_role = "py:obj"  # in docstrings, `grad` is a link
autosummary_generate = True
napoleon_numpy_docstring = True
napoleon_use_param = False  # several parameters of one entry stay one
napoleon_use_rtype = False
napoleon_use_ivar = True

html_theme = "furo"
html_title = f"Ingot {release}"
html_static_path = ["_static"]
html_css_files = ["ingot.css"]
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#9a4a00", "color-brand-content": "#9a4a00"},
    "dark_css_variables": {"color-brand-primary": "#ffb26b", "color-brand-content": "#ffb26b"},
}


def write_llms_text(app, error):
    """`llms.txt`: the pages by title, and `llms-full.txt`: their sources, one after the other."""
    if error is not None or app.builder.name != "html":
        return
    source, out = Path(app.srcdir), Path(app.outdir)
    pages = [name for name in sorted(app.env.found_docs) if (source / f"{name}.md").exists()]
    pages.sort(key=lambda name: app.env.toctree_includes.get("index", []).index(name) if name in app.env.toctree_includes.get("index", []) else 1000)
    titles = {name: app.env.titles[name].astext() for name in pages}
    lines = ["# Ingot", "", "> A just-in-time compiler for numerical Python: the decorator changes nothing but the speed.", ""]
    lines += [f"- [{titles[name]}]({name}.html)" for name in pages]
    (out / "llms.txt").write_text("\n".join(lines) + "\n")
    (out / "llms-full.txt").write_text("\n\n".join(with_includes(source / f"{name}.md") for name in pages))


def with_includes(page):
    """The text of a page, with those of the files that it includes."""
    return re.sub(r"```\{include\} (\S+)\n```", lambda match: (page.parent / match[1]).read_text(), page.read_text())


def link_pages(app, what, name, obj, options, lines):
    """Makes links of the pages that docstrings name: `docs/gpu.md`."""
    lines[:] = [re.sub(r"docs/([\w-]+)\.md", r":doc:`/\1`", line) for line in lines]


def setup(app):
    app.connect("autodoc-process-docstring", link_pages)
    app.connect("build-finished", write_llms_text)
