import { useState } from 'preact/hooks';
import { asCurl } from '../../api/command.ts';
import { may } from '../../api/session.ts';
import type { LiveFeed } from '../../live/live-feed.ts';
import { type LiveRecord, recordToFragment } from '../../live/records.ts';
import type { LiveSubject } from '../../live/subject.ts';
import { Button, CopyButton } from '../../parts/controls.tsx';
import { bytes, moment, preciseTime } from '../../parts/formats.ts';
import { parsedJson } from '../../parts/json/json.ts';
import { JsonTree } from '../../parts/json/json-tree.tsx';
import { Words } from '../../parts/words.tsx';
import { go, inApp, inInstance, pathTo } from '../../routing/router.ts';
import { userPath, userQuery } from '../../shell/user-link.tsx';
import { sendDraft } from '../send/draft.ts';
import { Kind, Receivers } from './record-row.tsx';

interface RecordPanelProps {
  readonly record: LiveRecord;
  readonly feed: LiveFeed;
  readonly close: () => void;
}

/** Everything about one record, and what to do with it. */
export function RecordPanel({ record: given, feed, close }: RecordPanelProps) {
  void feed.version.value;
  // Updates of the record may have come since it was opened.
  const record = feed.rows.recordOf(given) ?? given;
  const { subject } = feed;
  return (
    <section class="panel" aria-label="One record">
      <header>
        <h2 class="line-of">
          <Kind kind={record.kind} /> <span class="muted mono">{preciseTime(record.atMs)}</span>
        </h2>
        <Button icon="cross" label="Close" look="quiet" onClick={close} />
      </header>
      <div class="inside stack">
        {record.reason !== undefined && <Reason record={record} />}
        {record.receivers === 0 && record.reason === undefined && (
          <NobodyReceived record={record} app={subject.id} />
        )}
        <dl class="facts">
          {factsOf(record, subject).map(([name, fact, href]) =>
            fact === undefined || fact === '' ? null : (
              <>
                <dt>{name}</dt>
                <dd>{href === undefined ? fact : <a href={href}>{fact}</a>}</dd>
              </>
            ),
          )}
        </dl>
        <Payload record={record} />
        <RecordActions record={record} app={subject.id} />
      </div>
    </section>
  );
}

/** Why something was refused or failed. */
function Reason({ record: { reason, words, advice } }: { readonly record: LiveRecord }) {
  return (
    <p>
      <strong>{reason}</strong>
      {[words, advice && <Words text={advice} />].map(
        (line) =>
          line !== undefined && (
            <>
              <br />
              <span class="muted">{line}</span>
            </>
          ),
      )}
    </p>
  );
}

interface PartProps {
  readonly record: LiveRecord;
  readonly app: string;
}

function NobodyReceived({ record, app }: PartProps) {
  const { near, kind, except } = record;
  return (
    <p>
      <Receivers record={record} />{' '}
      {near ? (
        <>
          Nobody is subscribed to this name. Did you mean{' '}
          <a href={pathTo(inApp(app, 'channels', near))}>{near}</a>?
        </>
      ) : (
        `Nobody ${kind === 'client' || except ? 'else ' : ''}was subscribed to this channel.`
      )}
    </p>
  );
}

type Fact = readonly [name: string, fact: string | number | undefined, href?: string];

/** What is known of a record, with the page of each thing that has one. */
function factsOf(record: LiveRecord, { id, isPush }: LiveSubject): readonly Fact[] {
  const { user = '', publish = '', device = '', channel = '', socket = '' } = record;
  const { dueAtMs, bytes: length } = record;
  const owner = isPush ? { instance: id } : { app: id, channel };
  return [
    ['User', user, pathTo(userPath(user), userQuery(owner))],
    ['Publish', publish, pathTo(inInstance(id, 'publishes', publish))],
    ['Device', device, pathTo(inInstance(id, 'devices', device), { publish })],
    ['Channel', channel, pathTo(inApp(id, 'channels', channel))],
    ['Connection', socket, pathTo(inApp(id, 'connections', socket))],
    ['Received by', record.receivers || undefined],
    ['Event', record.event],
    ['Excepted', record.except],
    ['Key', record.key],
    ['Transport', record.transport],
    ['Code', record.code],
    ['Endpoint', record.host],
    ['Answer', record.status ?? undefined],
    ['Outcome', record.outcome],
    ['To', record.target],
    ['Platform', record.platform],
    ['Push service', record.origin],
    ['Devices', record.devices],
    ['Failed attempts', record.attempts],
    ['Due', dueAtMs === undefined ? undefined : moment(dueAtMs)],
    ['Length', length === undefined ? undefined : bytes(length)],
    ['Server', record.node],
  ];
}

function Payload({ record: { data, bytes: length = 0 } }: { readonly record: LiveRecord }) {
  if (data === undefined) return null;
  const value = parsedJson(data);
  return (
    <div class="stack tight">
      <h3>Payload{length > data.length ? `, the first ${bytes(data.length)}` : ''}</h3>
      {value === undefined ? <pre class="mono">{data}</pre> : <JsonTree value={value} />}
    </div>
  );
}

/** Ways to copy a record, to send it again and to find out why it was refused. */
function RecordActions({ record, app }: PartProps) {
  const { kind, channel, socket, event, data } = record;
  const [withData, setWithData] = useState(true);
  const link = () => {
    const { origin, pathname, search } = location;
    const fragment = recordToFragment(record, withData);
    return `${origin}${pathname}${search}${fragment === undefined ? '' : `#${fragment}`}`;
  };
  const sendAgain = () => {
    sendDraft.value = { channel: channel ?? '', event: event ?? '', data: data ?? '{}' };
    go(inApp(app, 'send'));
  };
  return (
    <>
      <div class="buttons">
        <CopyButton text={() => JSON.stringify(record, undefined, 2)}>JSON</CopyButton>
        {channel !== undefined && event !== undefined && (
          <CopyButton text={() => pusherJs(record)}>pusher-js</CopyButton>
        )}
        {kind === 'api' && <CopyButton text={() => curlOf(app, record)}>curl</CopyButton>}
        <CopyButton text={link}>Link</CopyButton>
        {kind === 'refused' && (
          <a class="button slim" href={pathTo(inApp(app, 'problems'), { channel, socket })}>
            Check its authorisation
          </a>
        )}
        {['api', 'client'].includes(kind) && may('operator') && (
          <Button look="slim" icon="send" onClick={sendAgain}>
            Send again
          </Button>
        )}
      </div>
      {data !== undefined && (
        <label class="check small muted">
          <input
            type="checkbox"
            checked={withData}
            onChange={({ currentTarget }) => setWithData(currentTarget.checked)}
          />
          The link carries the payload. No server sees it.
        </label>
      )}
    </>
  );
}

function pusherJs({ channel = '', event = '' }: LiveRecord): string {
  return `pusher.subscribe(${JSON.stringify(channel)}).bind(${JSON.stringify(event)}, (data) => console.log(data));`;
}

function curlOf(app: string, { channel = '', event = '', data = '{}' }: LiveRecord): string {
  return asCurl('POST /apps/{id}/events', {
    path: { id: app },
    body: { name: event, channels: [channel], data },
  });
}
