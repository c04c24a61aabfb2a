"""Gates compare a variant with its parent; findings already present in the parent are ignored."""

GATES = {
    "layout": "skilljuror.audit.gates.layout:LayoutGate",
    "hygiene": "skilljuror.audit.gates.hygiene:HygieneGate",
    "knowledge": "skilljuror.audit.gates.knowledge:KnowledgeGate",
    "routing": "skilljuror.audit.gates.routing:RoutingGate",
    "style": "skilljuror.audit.gates.style:StyleGate",
    "size": "skilljuror.audit.gates.size:SizeGate",
    "security": "skilljuror.audit.gates.security:SecurityGate",
}
