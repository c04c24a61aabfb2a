"""Gates: what must hold between a variant and its parent. All are differential."""

GATES = {
    "layout": "skilljuror.gates.layout:LayoutGate",
    "hygiene": "skilljuror.gates.hygiene:HygieneGate",
    "knowledge": "skilljuror.gates.knowledge:KnowledgeGate",
    "routing": "skilljuror.gates.routing:RoutingGate",
    "style": "skilljuror.gates.style:StyleGate",
    "size": "skilljuror.gates.size:SizeGate",
    "security": "skilljuror.gates.security:SecurityGate",
}
