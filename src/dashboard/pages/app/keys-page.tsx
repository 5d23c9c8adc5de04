import { useState } from 'preact/hooks';
import { type Answer, call } from '../../api/client.ts';
import { may } from '../../api/session.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { useAttempt } from '../../api/use-attempt.ts';
import { Button, CopyButton } from '../../parts/controls.tsx';
import { Confirm } from '../../parts/dialogs/confirm.tsx';
import { counted } from '../../parts/formats.ts';
import { FailureNotice, Notice } from '../../parts/notices.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { AwayServers } from '../../parts/servers.tsx';
import { TableHead } from '../../parts/table-head.tsx';
import { isRecentUse, lastUse, type Uses } from '../credentials/key-uses.ts';

const POLL_MS = 10_000;

/** With what do clients and backends of this app identify themselves? */
export default function KeysPage({ app }: { readonly app: string }) {
  const { value, failed, reload } = useAnswer('GET /apps/{id}', { path: { id: app } });
  const uses = useAnswer('GET /apps/{id}/keys', { path: { id: app } }, { everyMs: POLL_MS });
  const { wrong, secrets, show, add, remove } = useKeys(app, () => {
    reload();
    uses.reload();
  });
  const [removed, setRemoved] = useState<string>();
  const isConfigured = value?.source === 'configuration';
  return (
    <div class="page">
      <PageHead
        title="Keys"
        of={app}
        failed={failed}
        says={
          value &&
          `${counted(value.keys.length, 'key')}. To rotate: add one, move your backends and clients, then remove the old one when it is no longer used. The oldest signs webhooks.`
        }
        actions={
          <Button
            look="primary"
            icon="key"
            disabled={isConfigured || !may('admin')}
            onClick={() => void add()}
          >
            Add a key
          </Button>
        }
      />
      <FailureNotice failed={failed} retry={reload} />
      <FailureNotice failed={wrong} />
      <FailureNotice failed={uses.failed} retry={uses.reload} />
      <AwayServers servers={uses.value?.servers} />
      {isConfigured && (
        <Notice level="warn">
          <p>This app is in the configuration file. Change its keys there, then send SIGHUP.</p>
        </Notice>
      )}
      {value && <KeyTable app={value} uses={uses.value} {...{ secrets, show, setRemoved }} />}
      {removed !== undefined && (
        <Confirm
          title={`Remove the key ${removed}?`}
          typed={removed.slice(0, 6)}
          action="Remove"
          close={() => setRemoved(undefined)}
          act={() => remove(removed)}
        >
          <RemovedUse uses={uses.value} name={removed} />
          Clients that connect with it are refused, and requests that it signed get 401.
        </Confirm>
      )}
    </div>
  );
}

/** Warns before a key is removed that may still be in use. */
function RemovedUse({ uses, name }: { readonly uses: Uses | undefined; readonly name: string }) {
  const words = `Last used: ${lastUse(uses, name)}.`;
  if (!isRecentUse(uses, name)) return <p>{words}</p>;
  return (
    <Notice level="warn">
      <p>{words} Somebody still has it.</p>
    </Notice>
  );
}

type Secrets = Readonly<Record<string, string>>;

/** The secrets that are shown, by key, and what can be done with the keys. */
function useKeys(app: string, reload: () => void) {
  const path = { id: app };
  const { wrong, attempt } = useAttempt();
  const [secrets, setSecrets] = useState<Secrets>({});
  const show = (key: string) =>
    attempt(async () => {
      const { keys } = await call('GET /apps/{id}', { path, query: { secrets: 'true' } });
      setSecrets({ ...secrets, [key]: keys.find((each) => each.key === key)?.secret ?? '' });
    });
  const add = () =>
    attempt(async () => {
      const { key, secret } = await call('POST /apps/{id}/keys', { path });
      setSecrets({ ...secrets, [key]: secret });
      reload();
    });
  const remove = (key: string) =>
    attempt(async () => {
      await call('DELETE /apps/{id}/keys/{key}', { path: { ...path, key } });
      reload();
    });
  return { wrong, secrets, show, add, remove };
}

interface KeyTableProps {
  readonly app: Answer<'GET /apps/{id}'>;
  readonly uses: Uses | undefined;
  readonly secrets: Secrets;
  readonly show: (key: string) => Promise<void>;
  readonly setRemoved: (key: string) => void;
}

function KeyTable({ app: { keys, source }, uses, secrets, show, setRemoved }: KeyTableProps) {
  const isFixed = source === 'configuration' || keys.length === 1 || !may('admin');
  return (
    <section class="card" aria-label="Keys">
      <table class="table cards">
        <TableHead columns={['Key', 'Last used', 'Secret']} hasActions />
        <tbody>
          {keys.map(({ key }) => (
            <tr key={key}>
              <td class="name mono">{key}</td>
              <td>{lastUse(uses, key)}</td>
              <td class="wide">
                {secrets[key] === undefined ? (
                  <Button look="slim" disabled={!may('admin')} onClick={() => void show(key)}>
                    Show
                  </Button>
                ) : (
                  <span class="line-of">
                    <code>{secrets[key]}</code>
                    <CopyButton text={secrets[key]} />
                  </span>
                )}
              </td>
              <td class="number">
                <Button look="slim danger" disabled={isFixed} onClick={() => setRemoved(key)}>
                  Remove
                </Button>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
