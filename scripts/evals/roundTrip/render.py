"""Renders chat templates by Jinja2 as transformers does: a JSON line for each line of {"template", "variables"}."""

import datetime
import json
import sys

import jinja2.ext
import jinja2.sandbox


class Generation(jinja2.ext.Extension):
    """The tag of transformers around what an assistant has written."""

    tags = {"generation"}

    def parse(self, parser):
        next(parser.stream)
        return parser.parse_statements(["name:endgeneration"], drop_needle=True)


def refuse(message):
    raise jinja2.TemplateError(message)


def to_json(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


environment = jinja2.sandbox.ImmutableSandboxedEnvironment(
    trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols]
)
environment.filters["tojson"] = to_json
environment.globals["raise_exception"] = refuse
environment.globals["strftime_now"] = datetime.datetime(2026, 1, 1).strftime
templates = {}

for line in sys.stdin:
    request = json.loads(line)
    path = request["template"]
    try:
        if path not in templates:
            with open(path, encoding="utf-8") as file:
                templates[path] = environment.from_string(file.read())
        answer = {"text": templates[path].render(request["variables"])}
    except Exception as error:
        answer = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(answer), flush=True)
