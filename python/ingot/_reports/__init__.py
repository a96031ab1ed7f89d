"""What is shown of a compiled function: what was fused, vectorised and launched, and why not."""
