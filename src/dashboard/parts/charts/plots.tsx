import type { ComponentChildren } from 'preact';
import { useId, useState } from 'preact/hooks';
import { Button } from '../controls.tsx';
import { count } from '../formats.ts';
import { TableHead } from '../table-head.tsx';
import { stretches } from './series.ts';

/** The size in which plots are drawn; they are stretched to their place. */
const [WIDTH, HEIGHT] = [720, 160];

interface PlotProps {
  readonly title: string;
  /** The name of the rows' label, then the names of their figures. */
  readonly columns: readonly [string, ...string[]];
  /** One row of the table: a label and its figures; `null` for a missing one. Oldest first. */
  readonly rows: readonly (readonly [string, ...(number | null)[]])[];
  readonly peak: number;
  readonly print?: (value: number) => string;
  /** The colours of the chart, if there are several, with what each shows. */
  readonly legend?: readonly (readonly [look: string, name: string])[];
  readonly children: ComponentChildren;
}

/** A chart over time that starts at 0, with the same figures as a table behind a button. */
function Plot({ title, columns, rows, peak, print = count, legend = [], children }: PlotProps) {
  const [isTable, setTable] = useState(false);
  const id = useId();
  const [first, ...figures] = columns;
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
          <TableHead columns={[first, ...figures.map((number) => ({ number }))]} />
          <tbody>
            {rows.toReversed().map(([label, ...values]) => (
              <tr key={label}>
                <td>{label}</td>
                {figures.map((name, index) => {
                  const value = values[index] ?? null;
                  return (
                    <td key={name} class="number">
                      {value === null ? '–' : print(value)}
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      ) : (
        <div
          class="inside chart plot"
          role="img"
          aria-label={`${title}. Highest: ${print(peak)}. The table has all figures.`}
        >
          <span class="tick ends">
            <span>{print(peak)}</span>
            {legend.length > 0 && (
              <span class="legend">
                {legend.map(([look, name]) => (
                  <span key={name}>
                    <i class={look} /> {name}
                  </span>
                ))}
              </span>
            )}
          </span>
          <svg
            aria-hidden="true"
            viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
            preserveAspectRatio="none"
            height={HEIGHT}
          >
            <line class="axis" x1="0" x2={WIDTH} y1="0" y2="0" stroke-dasharray="2 4" />
            <line class="axis" x1="0" x2={WIDTH} y1={HEIGHT} y2={HEIGHT} />
            {children}
          </svg>
          <span class="tick ends">
            <span>{rows[0]?.[0]}</span>
            <span>{rows.at(-1)?.[0]}</span>
          </span>
        </div>
      )}
    </section>
  );
}

interface Bar {
  readonly label: string;
  /** `null`: not known. */
  readonly value: number | null;
  /** A part of `value`, drawn lighter. */
  readonly part?: number;
}

/** Bars, each with one part in another colour. */
export function Bars({
  bars,
  title,
  names,
}: {
  readonly bars: readonly Bar[];
  readonly title: string;
  /** What the values and their parts are. */
  readonly names: readonly [string, string?];
}) {
  const peak = Math.max(...bars.map(({ value }) => value ?? 0), 1);
  const each = WIDTH / Math.max(bars.length, 1);
  const bar = (value: number, index: number, look: string) => (
    <rect
      class={look}
      x={index * each + each * 0.1}
      width={each * 0.8}
      y={HEIGHT - (value / peak) * HEIGHT}
      height={(value / peak) * HEIGHT}
    />
  );
  const [name, partName] = names;
  return (
    <Plot
      title={title}
      peak={peak}
      legend={
        partName === undefined
          ? []
          : [
              ['bar', name],
              ['bar second', partName],
            ]
      }
      columns={['When', name, ...(partName === undefined ? [] : [partName])]}
      rows={bars.map(({ label, value, part }) => [
        label,
        value,
        ...(partName === undefined ? [] : [value === null ? null : (part ?? 0)]),
      ])}
    >
      {bars.map(({ label, value, part = 0 }, index) =>
        value === null ? null : (
          <g key={label}>
            <title>{`${label}: ${count(value)}`}</title>
            {bar(value, index, 'bar')}
            {part > 0 && bar(part, index, 'bar second')}
          </g>
        ),
      )}
    </Plot>
  );
}

interface BandPoint {
  readonly label: string;
  /** `null`: not known, so that the line has a gap. */
  readonly value: {
    readonly most: number;
    readonly fewest: number;
    readonly average: number;
  } | null;
}

/** A line of averages within the band between minimum and maximum. Gaps stay gaps. */
export function Band({
  points,
  title,
}: {
  readonly points: readonly BandPoint[];
  readonly title: string;
}) {
  const peak = Math.max(...points.map(({ value }) => value?.most ?? 0), 1);
  const each = WIDTH / Math.max(points.length, 1);
  const at = (index: number, value: number) =>
    `${((index + 0.5) * each).toFixed(1)},${(HEIGHT - (value / peak) * HEIGHT).toFixed(1)}`;
  const line = (of: 'most' | 'fewest' | 'average') =>
    stretches(points.map(({ value }) => value?.[of] ?? null));
  const [most, fewest] = [line('most'), line('fewest')];
  return (
    <Plot
      title={title}
      peak={peak}
      legend={[
        ['stroke', 'Average'],
        ['area', 'Fewest to most'],
      ]}
      columns={['When', 'Most', 'Average', 'Fewest']}
      rows={points.map(({ label, value }) => [
        label,
        value?.most ?? null,
        value?.average ?? null,
        value?.fewest ?? null,
      ])}
    >
      {most.map((stretch, place) => (
        <polygon
          key={stretch[0]?.index}
          class="area"
          points={[...stretch, ...(fewest[place] ?? []).toReversed()]
            .map(({ index, value }) => at(index, value))
            .join(' ')}
        />
      ))}
      {line('average').map((stretch) =>
        stretch.length === 1 ? (
          // A line of one point would not be seen.
          stretch.map(({ index, value }) => {
            const [x, y] = at(index, value).split(',');
            return <line key={index} class="peak" x1={x} x2={x} y1={y} y2={y} />;
          })
        ) : (
          <polyline
            key={stretch[0]?.index}
            class="stroke"
            points={stretch.map(({ index, value }) => at(index, value)).join(' ')}
          />
        ),
      )}
    </Plot>
  );
}
