import { useId, useState } from 'preact/hooks';
import { Button } from './controls.tsx';
import { count } from './formats.ts';
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

interface Bar {
  readonly label: string;
  readonly value: number;
  /** A part of `value`, drawn lighter. */
  readonly part?: number;
}

/** Bars from 0, with the same figures as a table behind a button. */
export function Bars({
  bars,
  title,
  valueName,
  partName,
}: {
  readonly bars: readonly Bar[];
  readonly title: string;
  readonly valueName: string;
  readonly partName?: string;
}) {
  const [isTable, setTable] = useState(false);
  const id = useId();
  const peak = Math.max(...bars.map(({ value }) => value), 1);
  const [width, height] = [720, 180];
  const each = width / Math.max(bars.length, 1);
  const y = (value: number) => (1 - value / peak) * (height - 20) + 4;
  return (
    <section class="card" aria-labelledby={id}>
      <header>
        <h2 id={id}>{title}</h2>
        <Button look="slim" pressed={isTable} onClick={() => setTable(!isTable)}>
          Table
        </Button>
      </header>
      {isTable ? (
        <table class="table">
          <thead>
            <tr>
              <th scope="col">When</th>
              <th scope="col" class="number">
                {valueName}
              </th>
              {partName !== undefined && (
                <th scope="col" class="number">
                  {partName}
                </th>
              )}
            </tr>
          </thead>
          <tbody>
            {bars.toReversed().map(({ label, value, part }) => (
              <tr key={label}>
                <td>{label}</td>
                <td class="number">{count(value)}</td>
                {partName !== undefined && <td class="number">{count(part ?? 0)}</td>}
              </tr>
            ))}
          </tbody>
        </table>
      ) : (
        <div
          class="inside chart"
          role="img"
          aria-label={`${title}. Highest: ${count(peak)}. The table has all figures.`}
        >
          <svg aria-hidden="true" viewBox={`0 0 ${width} ${height}`}>
            <line class="axis" x1="0" x2={width} y1={height - 16} y2={height - 16} />
            <line class="axis" x1="0" x2={width} y1={y(peak)} y2={y(peak)} stroke-dasharray="2 4" />
            <text class="tick" x="0" y={y(peak) + 14}>
              {count(peak)}
            </text>
            {bars.map(({ label, value, part = 0 }, index) => (
              <g key={label}>
                <title>{`${label}: ${count(value)}`}</title>
                <rect
                  class="bar"
                  x={index * each + each * 0.15}
                  width={each * 0.7}
                  y={y(value)}
                  height={height - 16 - y(value)}
                  rx="1.5"
                />
                {part > 0 && (
                  <rect
                    class="bar second"
                    x={index * each + each * 0.15}
                    width={each * 0.7}
                    y={y(part)}
                    height={height - 16 - y(part)}
                    rx="1.5"
                  />
                )}
              </g>
            ))}
            <text class="tick" x="0" y={height - 2}>
              {bars[0]?.label}
            </text>
            <text class="tick" x={width} y={height - 2} text-anchor="end">
              {bars.at(-1)?.label}
            </text>
          </svg>
        </div>
      )}
    </section>
  );
}

/** How much of a quota is used. */
export function QuotaBar({ used, of }: { readonly used: number; readonly of: number }) {
  const share = of === 0 ? 1 : used / of;
  const level = share >= 0.95 ? 'bad' : share >= 0.8 ? 'warn' : '';
  return (
    <span class={`quota ${level}`}>
      <span class="track">
        <i style={{ width: `${Math.min(100, share * 100)}%` }} />
      </span>
      {Math.floor(share * 100)} %
    </span>
  );
}
