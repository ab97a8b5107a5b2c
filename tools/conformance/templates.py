#!/usr/bin/env python3
"""Renders real chat templates with Ingot and with Python's jinja2 and compares the texts, byte for byte.

    templates.py --program INGOT --source FOLDER [--at-least N] [--verbose]

FOLDER/templates holds *.jinja files (FOLDER is vendor/llama.cpp/models of the `llama-cpp-python` source package). The
program `render_template`, built from tests/tools/render_template.cpp, lies beside INGOT. Each template is rendered over
six kinds of conversations, some in variants that suit one template or another. A template passes if every rendering is
equal or refused by both sides, and at least one is equal; one that Ingot alone refuses, naming the line, is counted
apart; any other fails. The last line is "N passed, N failed"; the exit code is 0 if none fails and at least N pass.
"""

import argparse
import json
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "oracle"))
import jinja_reference  # noqa: E402

REFUSED = "refused"  # how a problem starts that is no wrong text

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "Current weather of a city, \"as is\" & <quick>",
            "parameters": {
                "type": "object",
                "properties": {
                    "city": {"type": "string", "description": "Name of the city, e.g. Z\u00fcrich"},
                    "unit": {"type": "string", "enum": ["celsius", "fahrenheit"], "default": "celsius"},
                    "days": {"type": "array", "items": {"type": "integer"}, "minItems": 1},
                },
                "required": ["city"],
            },
        },
    },
    {
        "type": "function",
        "function": {
            "name": "add",
            "description": "Adds two numbers.",
            "parameters": {
                "type": "object",
                "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
                "required": ["a", "b"],
            },
        },
    },
]


def user(text):
    return {"role": "user", "content": text}


def assistant(text, **more):
    return {"role": "assistant", "content": text, **more}


def call(arguments, ids):
    function = {"name": "get_weather", "arguments": arguments}
    return {"type": "function", "function": function, **({"id": ids} if ids else {})}


SYSTEM = {"role": "system", "content": "You are terse. \u4f60\u597d <b>\"quoted\"</b>\nSecond line."}
ARGUMENTS = {"city": "Z\u00fcrich", "days": [1, 2.5, True, None], "note": "a\n\"b\""}


def tool_chat(arguments, ids, content):
    """A call and its result; templates differ in whether arguments are text and whether calls have ids."""
    result = {"role": "tool", "name": "get_weather", "content": "{\"celsius\": 21}"}
    if ids:
        result["tool_call_id"] = ids
    return [
        user("Weather in Z\u00fcrich?"),
        assistant(content, tool_calls=[call(arguments, ids)]),
        result,
        assistant("It is 21 degrees."),
        user("Thanks! And 2+2?"),
    ]


def conversations():
    """Name -> variables. The variants of one conversation share the name up to the slash."""
    thinking = [
        user("Why is the sky blue?"),
        assistant("<think>\nScattering.\n</think>\n\nRayleigh scattering."),
        user("And at dusk?"),
    ]
    reasoned = [
        user("Why is the sky blue?"),
        assistant("Rayleigh scattering.", reasoning_content="Scattering."),
        user("And at dusk?"),
    ]
    multi_turn = [SYSTEM, user("Hi  "), assistant(" Hello! "), user("How are\r\nyou?"), assistant("Fine."), user("OK")]
    yield "plain/text", {"messages": [user("Hello, world!")]}
    yield "plain/no-tools", {"messages": [user("Hello, world!")], "tools": None, "documents": None}
    yield "plain/parts", {"messages": [{"role": "user", "content": [{"type": "text", "text": "Hello"}]}]}
    yield "system/text", {"messages": [SYSTEM, user("Hello")]}
    yield "multi-turn/text", {"messages": multi_turn}
    yield "tools/offered", {"messages": [user("Weather?")], "tools": TOOLS}
    for content in ("", None):
        kind = "empty" if content == "" else "none"
        yield f"tools/object-{kind}", {"messages": tool_chat(ARGUMENTS, "call_123", content), "tools": TOOLS}
        yield f"tools/text-{kind}", {
            "messages": tool_chat(json.dumps(ARGUMENTS), "abcdef123", content), "tools": TOOLS}
    yield "tools/no-ids", {"messages": [SYSTEM] + tool_chat(ARGUMENTS, None, ""), "tools": TOOLS}
    for enabled in (True, False):
        flags = {"enable_thinking": enabled, "thinking": enabled, "reasoning_effort": "high" if enabled else "low"}
        yield f"thinking/inline-{enabled}", {"messages": thinking, **flags}
        yield f"thinking/field-{enabled}", {"messages": reasoned, **flags}
    yield "no-generation-prompt/text", {"messages": multi_turn[:-1], "add_generation_prompt": False}


def variables(conversation):
    # The last two are what the template of firefunction asks its caller for.
    common = {"add_generation_prompt": True, "bos_token": "<s>", "eos_token": "</s>",
              "functions": json.dumps(TOOLS), "datetime": "26 Jul 2024"}
    return {**common, **conversation}


def render_all(program, requests):
    lines = "".join(json.dumps(request) + "\n" for request in requests)
    done = subprocess.run([program], input=lines.encode(), stdout=subprocess.PIPE, check=False)
    answers = [json.loads(line) for line in done.stdout.decode().splitlines()]
    if done.returncode != 0 or len(answers) != len(requests):
        sys.exit(f"{program} ended with {done.returncode} after {len(answers)} of {len(requests)} renderings")
    return answers


def differences(source, cases, answers):
    """Yields (conversation, what is wrong) and counts the renderings that are equal texts."""
    reference = jinja_reference.render_each(source, [variables(conversation) for _, conversation in cases])
    for (name, _), (expected, raised), answer in zip(cases, reference, answers):
        if raised is not None:
            if "text" in answer:
                yield name, f"jinja2 raises {type(raised).__name__}: {raised}; Ingot renders"
        elif "error" in answer:
            yield name, f"{REFUSED}: {answer['error']}"
        elif answer["text"] != expected:
            at = next((i for i, (a, b) in enumerate(zip(answer["text"], expected)) if a != b), -1)
            yield name, f"texts differ at {at}: {answer['text'][at:at + 40]!r} instead of {expected[at:at + 40]!r}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, required=True)
    parser.add_argument("--source", type=pathlib.Path, required=True)
    parser.add_argument("--at-least", type=int, default=64, metavar="N")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()

    files = sorted((options.source / "templates").glob("*.jinja"))
    if not files:
        sys.exit(f"no *.jinja files in {options.source / 'templates'}")
    renderer = options.program.with_name("render_template")
    cases = list(conversations())
    passed, refused, failed, raised_by_both = 0, 0, 0, 0
    for file in files:
        source = file.read_text(encoding="utf-8")
        requests = [{"source": source, "variables": variables(conversation)} for _, conversation in cases]
        answers = render_all(renderer, requests)
        problems = list(differences(source, cases, answers))
        if not problems and not any("text" in answer for answer in answers):
            problems.append(("all", "no rendering gives a text"))
        both = sum("error" in answer for answer in answers) - sum(text.startswith(REFUSED) for _, text in problems)
        raised_by_both += both
        problems += [("all", f"a refusal without a line: {answer['error']}") for answer in answers
                     if "error" in answer and "line " not in answer["error"]]
        named_refusal = bool(problems) and all(text.startswith(REFUSED) for _, text in problems)
        passed += not problems
        refused += named_refusal
        failed += bool(problems) and not named_refusal
        if problems or options.verbose:
            word = "ok     " if not problems else "refused" if named_refusal else "FAILED "
            print(f"{word} {file.name}: {len(cases) - len(problems)} of {len(cases)} equal"
                  f" ({both} refused by both)")
        for name, text in problems:
            print(f"     {name}: {text}")
    print(f"templates: {len(files)} files x {len(cases)} renderings ({raised_by_both} refused by both sides): "
          f"{passed} files equal, {refused} refused by name, {failed} different; "
          f"at least {options.at_least} have to be equal")
    print(f"{passed} passed, {failed} failed")
    return 0 if passed >= options.at_least and failed == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
