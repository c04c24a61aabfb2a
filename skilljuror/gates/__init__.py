"""Gates: what must hold between a variant and its parent. All are differential."""

GATES = {
    "layout": "skilljuror.gates.layout:Layout",
    "hygiene": "skilljuror.gates.hygiene:Hygiene",
    "knowledge": "skilljuror.gates.knowledge:Knowledge",
    "style": "skilljuror.gates.style:Style",
    "size": "skilljuror.gates.size:Size",
    "security": "skilljuror.gates.security:Security",
}
