export function HealthView() { return null; }
