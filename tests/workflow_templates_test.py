#!/usr/bin/env python3
"""Every workflow of the PyPI package comfyui-workflow-templates converts and validates without a crash, with a report of what is missing.

usage: workflow_templates_test.py VENEER SOURCE_DIR
VENEER_WORKFLOW_TEMPLATES names a folder with the package's JSON files (searched with its sub-folders); otherwise the installed package is used, and
where there is none the test is skipped.
"""
import collections
import importlib.util
import json
import os
import pathlib
import subprocess
import sys

SKIPPED = 77
# Where the package keeps its JSON: in newer versions a package of its own.
PACKAGES = ("comfyui_workflow_templates_json", "comfyui_workflow_templates")


def folder_of_templates():
    named = os.environ.get("VENEER_WORKFLOW_TEMPLATES")
    if named:
        return pathlib.Path(named)
    for package in PACKAGES:
        spec = importlib.util.find_spec(package)
        if spec is not None and spec.submodule_search_locations:
            return pathlib.Path(next(iter(spec.submodule_search_locations)))
    return None


def is_workflow(path):
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        return False
    return isinstance(content, dict) and isinstance(content.get("nodes"), list)


def active_nodes(workflow):
    """Ids and classes of the nodes that an API prompt has, counted here by other means than the program's."""
    definitions = {s["id"]: s for s in workflow.get("definitions", {}).get("subgraphs", [])}
    ids = {}

    def walk(graph, prefix):
        for node in graph["nodes"]:
            if node.get("mode", 0) in (2, 4) or node["type"] in ("Reroute", "PrimitiveNode", "Note", "MarkdownNote"):
                continue
            if node["type"] in definitions:
                walk(definitions[node["type"]], f"{prefix}{node['id']}:")
            else:
                ids[f"{prefix}{node['id']}"] = node["type"]

    walk(workflow, "")
    return ids


def check(program, models, path):
    """What is wrong, as a list of texts, and the findings."""
    command = [program, "convert-workflow", str(path), "--models", models, "--json", "--cache", ""]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60)
    expected = active_nodes(json.loads(path.read_text(encoding="utf-8")))
    if not expected:
        return ([] if run.returncode == 2 else [f"nothing runs in it, and convert-workflow gave {run.returncode}"]), []
    if run.returncode not in (0, 1):
        return [f"convert-workflow: exit code {run.returncode}: {run.stdout[-300:]} {run.stderr[-300:]}"], []
    converted = json.loads(run.stdout)
    faults = []
    prompt = converted["prompt"]
    if {id: node["class_type"] for id, node in prompt.items()} != expected:
        faults.append("the nodes of the prompt are not those that run in the workflow")
    for id, node in prompt.items():
        for name, value in node["inputs"].items():
            if isinstance(value, list) and value[0] not in prompt:
                faults.append(f"node {id}, input {name}: a link to {value[0]}, which is not there")
    run = subprocess.run([program, "validate", str(path), "--models", models, "--json", "--cache", ""], capture_output=True, text=True, timeout=60)
    if run.returncode not in (0, 1):
        return faults + [f"validate: exit code {run.returncode}: {run.stdout[-300:]} {run.stderr[-300:]}"], []
    report = json.loads(run.stdout)
    if report["valid"] != (run.returncode == 0) or report["valid"] != (report["errors"] == 0):
        faults.append("the report and the exit code disagree")
    named = {finding["class_type"] for finding in report["findings"] if finding["rule"] == "unknown_class"}
    known = {entry["class_type"] for entry in KNOWN}
    if named != {class_type for class_type in expected.values() if class_type not in known}:
        faults.append("the classes that are missing are not those that the report names")
    return faults, report["findings"]


KNOWN = []


def main():
    program, source = sys.argv[1], pathlib.Path(sys.argv[2])
    folder = folder_of_templates()
    if folder is None:
        print("skipped: comfyui-workflow-templates is not installed, and VENEER_WORKFLOW_TEMPLATES names no folder")
        return SKIPPED
    models = str(source / "models/demo")
    KNOWN.extend(json.loads(subprocess.run([program, "nodes", "--json", "--models", models], capture_output=True, text=True, check=True).stdout))
    paths = [path for path in sorted(folder.rglob("*.json")) if is_workflow(path)]
    if not paths:
        print(f"there is no workflow in {folder}")
        return 1
    failed, rules, complete = 0, collections.Counter(), 0
    for path in paths:
        faults, findings = check(program, models, path)
        rules.update(finding["rule"] for finding in findings)
        complete += not any(finding["rule"] == "unknown_class" for finding in findings)
        if faults:
            failed += 1
            print(f"{path.name}: " + "; ".join(faults[:3]))
    print(f"{len(paths)} workflows, {failed} failed, {complete} of known classes only; findings: {dict(rules.most_common())}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
