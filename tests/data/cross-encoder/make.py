"""How the models of this folder were made, with the package onnx: cross-encoders that count the words which two texts share.

A score is how many tokens of the first text stand in the second, less a half; special tokens, those below 4, and what
the mask leaves out do not count. ``two.onnx`` has two labels, the negative of that and that; ``three.onnx`` has three.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

CONSTANTS = {
    "at1": np.array([1], dtype=np.int64),
    "at2": np.array([2], dtype=np.int64),
    "zero": np.int64(0),
    "one": np.int64(1),
    "special": np.int64(3),
    "lift": np.float32(-0.5),
}
STEPS = [
    ("Unsqueeze", "input_ids at2", "rows"),
    ("Unsqueeze", "input_ids at1", "columns"),
    ("Equal", "rows columns", "same"),
    ("Equal", "token_type_ids zero", "of_first"),
    ("Equal", "token_type_ids one", "of_second"),
    ("Equal", "attention_mask one", "there"),
    ("Greater", "input_ids special", "word"),
    ("And", "there word", "counts"),
    ("And", "of_first counts", "first"),
    ("And", "of_second counts", "second"),
    ("Unsqueeze", "first at2", "first_rows"),
    ("Unsqueeze", "second at1", "second_columns"),
    ("And", "first_rows second_columns", "pair"),
    ("And", "same pair", "shared"),
    ("Cast", "shared", "numbers"),
    ("ReduceMax", "numbers", "found"),
    ("ReduceSum", "found at1", "sum"),
    ("Add", "sum lift", "score"),
    ("Neg", "score", "negative"),
]
OPTIONS = {
    "numbers": {"to": TensorProto.FLOAT},
    "found": {"axes": [2], "keepdims": 0},
    "sum": {"keepdims": 1},
}
LABELS = {"model": ["score"], "two": ["negative", "score"], "three": ["negative", "score", "score"]}

for name, labels in LABELS.items():
    nodes = [helper.make_node(kind, given.split(), [made], **OPTIONS.get(made, {})) for kind, given, made in STEPS]
    nodes.append(helper.make_node("Concat", labels, ["logits"], axis=1))
    inputs = ["input_ids", "attention_mask", "token_type_ids"]
    graph = helper.make_graph(
        nodes,
        "shared_words",
        [helper.make_tensor_value_info(one, TensorProto.INT64, ["batch", "tokens"]) for one in inputs],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", len(labels)])],
        [numpy_helper.from_array(np.array(value), one) for one, value in CONSTANTS.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, Path(__file__).with_name(f"{name}.onnx"))
