"""Gates compare a variant with its parent; findings already present in the parent are ignored."""

GATES = {
    "layout": "skilljuror.gates.layout:LayoutGate",
    "hygiene": "skilljuror.gates.hygiene:HygieneGate",
    "knowledge": "skilljuror.gates.knowledge:KnowledgeGate",
    "routing": "skilljuror.gates.routing:RoutingGate",
    "style": "skilljuror.gates.style:StyleGate",
    "size": "skilljuror.gates.size:SizeGate",
    "security": "skilljuror.gates.security:SecurityGate",
}
