"""The reference for chat templates: Python's jinja2, set up the way Hugging Face transformers sets it up.

Used by make_template_golden.py and by ../conformance/templates.py. Needs jinja2 >= 3.1 and nothing else.
"""

import datetime
import json

import jinja2
import jinja2.ext
import jinja2.nodes
import jinja2.sandbox

# What strftime_now prints, here and in tests/tools/render_template.cpp.
NOW = datetime.datetime(2024, 7, 26, 9, 5, 3)


class Generation(jinja2.ext.Extension):
    """{% generation %}: transformers notes where the body's text lies; the text itself is unchanged."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        call = self.call_method("_body_text")
        return jinja2.nodes.CallBlock(call, [], [], body).set_lineno(line)

    def _body_text(self, caller):
        return caller()


class SafeNamespace(jinja2.utils.Namespace):
    """A namespace that takes no names with a leading underscore."""

    def __init__(*args, **kwargs):
        self, args = args[0], args[1:]
        names = dict(*args, **kwargs)
        for name in names:
            SafeNamespace.check(name)
        jinja2.utils.Namespace.__init__(self, names)

    def __setitem__(self, name, value):
        SafeNamespace.check(name)
        jinja2.utils.Namespace.__setitem__(self, name, value)

    @staticmethod
    def check(name):
        if isinstance(name, str) and name.startswith("_"):
            raise jinja2.exceptions.SecurityError(f"underscore-prefixed name {name!r}")


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def environment():
    env = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols]
    )
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = NOW.strftime
    env.globals["namespace"] = SafeNamespace
    return env


def render(source, variables):
    """(text, None) or (None, exception)."""
    return render_each(source, [variables])[0]


def render_each(source, conversations):
    """The same for several sets of variables, with the template compiled once."""
    try:
        template = environment().from_string(source)
    except Exception as error:
        return [(None, error)] * len(conversations)
    return [_render(template, variables) for variables in conversations]


def _render(template, variables):
    try:
        return template.render(**variables), None
    except Exception as error:  # whatever Python raises, Ingot must refuse too
        return None, error
