"""Gates: what must hold between a variant and its parent. All are differential."""

GATES = {
    "layout": "skilljuror.gates.layout:Layout",
    "hygiene": "skilljuror.gates.hygiene:Hygiene",
    "knowledge": "skilljuror.gates.knowledge:Knowledge",
}
