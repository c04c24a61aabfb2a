"""OpenTelemetry traces: OTLP JSON with the GenAI semantic conventions."""
