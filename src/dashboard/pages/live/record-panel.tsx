import { useState } from 'preact/hooks';
import { asCurl } from '../../api/command.ts';
import { may } from '../../api/session.ts';
import type { LiveFeed } from '../../live/live-feed.ts';
import { type LiveRecord, recordToFragment } from '../../live/records.ts';
import { Button, CopyButton } from '../../parts/controls.tsx';
import { bytes, moment, preciseTime } from '../../parts/formats.ts';
import { parsedJson } from '../../parts/json/json.ts';
import { JsonTree } from '../../parts/json/json-tree.tsx';
import { Words } from '../../parts/words.tsx';
import { go, inApp, inInstance, pathTo } from '../../routing/router.ts';
import { UserLink } from '../../shell/user-link.tsx';
import { sendDraft } from '../send/draft.ts';
import { Heard, Kind } from './record-row.tsx';

/** Everything about one record, and what to do with it. */
export function RecordPanel({
  record: given,
  feed,
  close,
}: {
  readonly record: LiveRecord;
  readonly feed: LiveFeed;
  readonly close: () => void;
}) {
  void feed.version.value;
  const [withData, setWithData] = useState(true);
  // Updates of the record may have come since it was opened.
  const record = feed.rows.recordOf(given) ?? given;
  const value = record.data === undefined ? undefined : parsedJson(record.data);
  const isCut =
    record.data !== undefined && record.bytes !== undefined && record.bytes > record.data.length;
  const { id, isPush } = feed.subject;
  const appPath = inApp(id);
  const link = () => {
    const { origin, pathname, search } = location;
    const fragment = recordToFragment(record, withData);
    return `${origin}${pathname}${search}${fragment === undefined ? '' : `#${fragment}`}`;
  };
  const sendAgain = () => {
    sendDraft.value = {
      channel: record.channel ?? '',
      event: record.event ?? '',
      data: record.data ?? '{}',
    };
    go(`${appPath}/send`);
  };
  const facts: readonly (readonly [string, string | number | undefined])[] = [
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
    ['Due', record.dueAtMs === undefined ? undefined : moment(record.dueAtMs)],
    ['Length', record.bytes === undefined ? undefined : bytes(record.bytes)],
    ['Server', record.node],
  ];
  return (
    <section class="panel" aria-label="One record">
      <header>
        <h2 class="line-of">
          <Kind kind={record.kind} /> <span class="muted mono">{preciseTime(record.atMs)}</span>
        </h2>
        <Button icon="cross" label="Close" look="quiet" onClick={close} />
      </header>
      <div class="inside stack">
        {record.reason !== undefined && (
          <p>
            <strong>{record.reason}</strong>
            {record.words !== undefined && (
              <>
                <br />
                <span class="muted">{record.words}</span>
              </>
            )}
            {record.advice !== undefined && (
              <>
                <br />
                <span class="muted">
                  <Words text={record.advice} />
                </span>
              </>
            )}
          </p>
        )}
        {record.receivers === 0 && (
          <p>
            <Heard record={record} />{' '}
            {record.near ? (
              <>
                Nobody is subscribed to this name. Did you mean{' '}
                <a href={pathTo(`${appPath}/channels/${encodeURIComponent(record.near)}`)}>
                  {record.near}
                </a>
                ?
              </>
            ) : (
              'Nobody was subscribed to this channel.'
            )}
          </p>
        )}
        <dl class="facts">
          {record.user !== undefined && (
            <>
              <dt>User</dt>
              <dd>
                <UserLink
                  user={record.user}
                  {...(isPush ? { instance: id } : { app: id, channel: record.channel })}
                />
              </dd>
            </>
          )}
          {record.publish !== undefined && (
            <>
              <dt>Publish</dt>
              <dd>
                <a href={pathTo(inInstance(id, 'publishes', record.publish))}>{record.publish}</a>
              </dd>
            </>
          )}
          {record.device !== undefined && (
            <>
              <dt>Device</dt>
              <dd>
                <a
                  href={pathTo(inInstance(id, 'devices', record.device), {
                    publish: record.publish,
                  })}
                >
                  {record.device}
                </a>
              </dd>
            </>
          )}
          {record.channel !== undefined && (
            <>
              <dt>Channel</dt>
              <dd>
                <a href={pathTo(`${appPath}/channels/${encodeURIComponent(record.channel)}`)}>
                  {record.channel}
                </a>
              </dd>
            </>
          )}
          {record.socket !== undefined && (
            <>
              <dt>Connection</dt>
              <dd>
                <a href={pathTo(`${appPath}/connections/${encodeURIComponent(record.socket)}`)}>
                  {record.socket}
                </a>
              </dd>
            </>
          )}
          {(record.receivers ?? 0) > 0 && (
            <>
              <dt>Received by</dt>
              <dd>{record.receivers}</dd>
            </>
          )}
          {facts.map(([name, fact]) =>
            fact === undefined || fact === '' ? null : (
              <>
                <dt>{name}</dt>
                <dd>{fact}</dd>
              </>
            ),
          )}
        </dl>
        {record.data !== undefined && (
          <div class="stack tight">
            <h3>Payload{isCut ? `, the first ${bytes(record.data.length)}` : ''}</h3>
            {value === undefined ? (
              <pre class="mono">{record.data}</pre>
            ) : (
              <JsonTree value={value} />
            )}
          </div>
        )}
        <div class="buttons">
          <CopyButton text={() => JSON.stringify(record, undefined, 2)}>JSON</CopyButton>
          {record.channel !== undefined && record.event !== undefined && (
            <CopyButton text={() => pusherJs(record)}>pusher-js</CopyButton>
          )}
          {record.kind === 'api' && <CopyButton text={() => curlOf(id, record)}>curl</CopyButton>}
          <CopyButton text={link}>Link</CopyButton>
          {record.kind === 'refused' && (
            <a
              class="button slim"
              href={pathTo(`${appPath}/problems`, {
                channel: record.channel,
                socket: record.socket,
              })}
            >
              Check its authorisation
            </a>
          )}
          {['api', 'client'].includes(record.kind) && may('operator') && (
            <Button look="slim" icon="send" onClick={sendAgain}>
              Send again
            </Button>
          )}
        </div>
        {record.data !== undefined && (
          <label class="check small muted">
            <input
              type="checkbox"
              checked={withData}
              onChange={({ currentTarget }) => setWithData(currentTarget.checked)}
            />
            The link carries the payload. No server sees it.
          </label>
        )}
      </div>
    </section>
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
