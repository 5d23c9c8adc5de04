import type { CSSProperties } from 'preact';
import type { LiveRow } from '../../live/live-rows.ts';
import { groupOf, type LiveRecord } from '../../live/records.ts';
import { bytes, count, counted, preciseTime, shortId } from '../../parts/formats.ts';
import { Icon } from '../../parts/icons.tsx';

/** A record's kind: icon, word and colour. */
export function Kind({ kind }: { readonly kind: string }) {
  const { look, icon } = groupOf(kind);
  return (
    <span class={`kind ${look}`}>
      <Icon name={icon} />
      {kind === 'api' ? 'API' : kind.replaceAll('-', ' ')}
    </span>
  );
}

/** How many connections received an event, or how many devices a record is about. */
export function Receivers({ record }: { readonly record: LiveRecord }) {
  const { devices, platform } = record;
  if (devices !== undefined || platform !== undefined) {
    return (
      <span class="muted">
        {[platform, devices && counted(devices, 'device')].filter(Boolean).join(' · ')}
      </span>
    );
  }
  if (record.receivers === undefined) {
    return <span class="muted">{record.bytes === undefined ? '' : bytes(record.bytes)}</span>;
  }
  if (record.receivers > 0) return <span>→ received by {count(record.receivers)}</span>;
  return <strong class="warn">received by nobody ⚠</strong>;
}

/** A short text about a record: the error, or the result. */
function wordsOf({ near, reason, code, kind, status, outcome, words }: LiveRecord): string {
  if (near !== undefined && near !== null) return `did you mean ${near}?`;
  if (kind === 'webhook') {
    const result = String(status ?? outcome);
    return reason?.includes(result) ? reason : `${result}: ${reason}`;
  }
  return [code, reason, words].filter(Boolean).join(' ');
}

/** A name that is cut at its beginning where that is a namespace, as in `App\Events\OrderShipped`: all begin alike. */
function What({ name = '' }: { readonly name: string | undefined }) {
  const end = name.lastIndexOf('\\') + 1;
  return (
    <span class="what" title={name}>
      <span class="cut">{name.slice(0, end)}</span>
      <span class="cut">{name.slice(end)}</span>
    </span>
  );
}

export function RecordRow({
  row,
  style,
  isChosen,
  choose,
}: {
  readonly row: LiveRow | undefined;
  readonly style: CSSProperties;
  readonly isChosen: boolean;
  readonly choose: (id: number, record: LiveRecord) => void;
}) {
  if (row === undefined) return <div class="record" style={style} />;
  if ('gap' in row) {
    return (
      <div
        id={`row-${row.id}`}
        class="record gap"
        role="option"
        tabIndex={-1}
        aria-selected={isChosen}
        style={style}
      >
        ┈ {row.gap} ┈
      </div>
    );
  }
  const { record } = row;
  const words = wordsOf(record);
  const publish = record.publish && shortId(record.publish);
  const device = record.device && shortId(record.device);
  const where = record.channel ?? record.socket ?? record.host ?? device ?? publish;
  const what = [record.event, publish, record.user, record.socket].find(
    (name) => name && name !== where,
  );
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the list walks its rows by arrow keys, j and k, and opens them by Enter.
    <div
      id={`row-${row.id}`}
      class={`record ${groupOf(record.kind).look} ${words === '' ? '' : 'in-words'} ${record.host ? 'sent' : ''}`}
      role="option"
      aria-selected={isChosen}
      tabIndex={-1}
      style={style}
      onClick={() => choose(row.id, record)}
    >
      <span class="time">{preciseTime(record.atMs)}</span>
      <Kind kind={record.kind} />
      <span class="where cut">{where}</span>
      <What name={what} />
      <span class="receivers">
        <Receivers record={record} />
      </span>
      <span class="data cut">
        {words || (record.data ?? record.transport ?? record.target ?? record.origin)}
      </span>
    </div>
  );
}
