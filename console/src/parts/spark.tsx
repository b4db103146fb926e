/** A sparkline. */
const POINTS_MAX = 80;

export function Spark({ of, label }: { readonly of: readonly number[]; readonly label: string }) {
  const points = of.slice(-POINTS_MAX);
  const most = Math.max(1, ...points);
  const step = 100 / (POINTS_MAX - 1);
  const line = points.map((value, index) => `${((POINTS_MAX - points.length + index) * step).toFixed(1)} ${(23 - (value / most) * 21).toFixed(1)}`);
  if (line.length < 2) return <svg class="spark" viewBox="0 0 100 24" aria-hidden="true" />;
  return (
    <svg class="spark" viewBox="0 0 100 24" preserveAspectRatio="none" role="img" aria-label={label}>
      <path class="spark-area" d={`M${line[0]?.split(" ")[0]} 24L${line.join("L")}L100 24Z`} />
      <path class="spark-line" d={`M${line.join("L")}`} />
    </svg>
  );
}
