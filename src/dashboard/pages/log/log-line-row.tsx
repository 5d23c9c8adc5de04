import { preciseTime } from '../../parts/formats.ts';
import { inApp, inInstance, pathTo } from '../../routing/router.ts';
import type { LogLine } from './log-feed.ts';

const looks = { debug: '', info: '', warn: 'warn', error: 'bad' } as const;

/** One line of the log. Ids are links to their pages. */
export function LogLineRow({
  line: { atMs, level, message, fields, server = '' },
  showsServer,
}: {
  readonly line: LogLine;
  readonly showsServer: boolean;
}) {
  return (
    <li class="log-line">
      <time class="time" title={new Date(atMs).toISOString()}>
        {preciseTime(atMs)}
      </time>
      <span>
        <span class={`tag ${looks[level]}`}>{level}</span>
      </span>
      <span class="said">
        {message}
        {Object.entries(fields).map(([name, value]) => (
          <Field key={name} name={name} value={String(value)} fields={fields} />
        ))}
        {showsServer && <Field name="server" value={server} fields={fields} />}
      </span>
    </li>
  );
}

function Field({
  name,
  value,
  fields,
}: {
  readonly name: string;
  readonly value: string;
  readonly fields: LogLine['fields'];
}) {
  const path = placeOf(name, value, fields);
  return (
    <>
      {' '}
      <span class="value-of">
        <span class="muted">{name}=</span>
        {path === undefined ? value : <a href={path}>{value}</a>}
      </span>
    </>
  );
}

/** The page of the object that a field names. */
function placeOf(name: string, value: string, fields: LogLine['fields']): string | undefined {
  const [app, instance] = [fields['app'], fields['instance']];
  if (name === 'app') return pathTo(inApp(value, 'live'));
  if (name === 'instance') return pathTo(inInstance(value, 'publishes'));
  if (app !== undefined) {
    const id = String(app);
    if (name === 'channel') return pathTo(inApp(id, 'channels', value));
    if (name === 'connection' || name === 'socketId')
      return pathTo(inApp(id, 'connections', value));
    if (name === 'user') return pathTo(inApp(id, 'connections'), { user: value });
  }
  if (name === 'publish' && instance !== undefined) {
    return pathTo(inInstance(String(instance), 'publishes', value));
  }
  return undefined;
}
