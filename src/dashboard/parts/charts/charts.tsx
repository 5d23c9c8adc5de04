import { stretches, thinned, type Values } from './series.ts';

const WIDTH = 160;
const HEIGHT = 32;
/** A sparkline never has more points than it can show. */
const POINTS_MAX = 80;

/** A small line without axes. It begins at 0, gaps stay gaps, and a dot marks the peak. */
export function Sparkline({ values, label }: { readonly values: Values; readonly label: string }) {
  const points = thinned(values, POINTS_MAX);
  const peak = Math.max(...points.map((value) => value ?? 0), 0);
  const at = (value: number, index: number) => ({
    x: points.length < 2 ? WIDTH : (index / (points.length - 1)) * WIDTH,
    y: HEIGHT - 2 - (peak === 0 ? 0 : (value / peak) * (HEIGHT - 6)),
  });
  const peakIndex = peak === 0 ? -1 : points.lastIndexOf(peak);
  const dot = at(peak, Math.max(0, peakIndex));
  return (
    <div class="chart spark" role="img" aria-label={label}>
      <svg
        aria-hidden="true"
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        height={HEIGHT}
      >
        {stretches(points).map((stretch) => {
          const line = stretch.map(({ value, index }) => {
            const { x, y } = at(value, index);
            return `${x.toFixed(1)},${y.toFixed(1)}`;
          });
          const [first, last] = [stretch[0]?.index ?? 0, stretch.at(-1)?.index ?? 0];
          return (
            <g key={first}>
              <polygon
                class="area"
                points={`${at(0, first).x},${HEIGHT} ${line.join(' ')} ${at(0, last).x},${HEIGHT}`}
              />
              <polyline class="stroke" points={line.join(' ')} />
            </g>
          );
        })}
        {peakIndex !== -1 && <line class="peak" x1={dot.x} x2={dot.x} y1={dot.y} y2={dot.y} />}
      </svg>
    </div>
  );
}

/** How much of a quota is used; `forecast` is how much will be at its end. */
export function QuotaBar({
  used,
  of,
  forecast = used,
}: {
  readonly used: number;
  readonly of: number;
  readonly forecast?: number;
}) {
  const share = of === 0 ? 1 : used / of;
  const level = share >= 0.95 ? 'bad' : share >= 0.8 ? 'warn' : '';
  const width = (value: number) => `${Math.min(100, of === 0 ? 100 : (value / of) * 100)}%`;
  return (
    <span class={`quota ${level}`}>
      <span class="track">
        {forecast > used && <i class="forecast" style={{ width: width(forecast) }} />}
        <i style={{ width: width(used) }} />
      </span>
      {Math.floor(share * 100)} %
    </span>
  );
}
