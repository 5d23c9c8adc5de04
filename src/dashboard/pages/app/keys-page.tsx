import { useState } from 'preact/hooks';
import { call, Failed } from '../../api/client.ts';
import { may } from '../../api/session.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { Button, CopyButton } from '../../parts/controls.tsx';
import { Confirm } from '../../parts/dialogs/confirm.tsx';
import { counted } from '../../parts/formats.ts';
import { FailureNotice, Notice } from '../../parts/notices.tsx';
import { PageHead } from '../../parts/page-head.tsx';

/** With what do clients and backends of this app identify themselves? */
export default function KeysPage({ app }: { readonly app: string }) {
  const { value, failed, reload } = useAnswer('GET /apps/{id}', { path: { id: app } });
  const [secrets, setSecrets] = useState<Readonly<Record<string, string>>>({});
  const [wrong, setWrong] = useState<Failed | undefined>(undefined);
  const [removed, setRemoved] = useState<string | undefined>(undefined);

  const act = async (action: () => Promise<void>) => {
    setWrong(undefined);
    try {
      await action();
    } catch (error) {
      if (!(error instanceof Failed)) throw error;
      setWrong(error);
    }
  };
  const show = (key: string) =>
    act(async () => {
      const { keys } = await call('GET /apps/{id}', {
        path: { id: app },
        query: { secrets: 'true' },
      });
      setSecrets({ ...secrets, [key]: keys.find((each) => each.key === key)?.secret ?? '' });
    });
  const add = () =>
    act(async () => {
      const { key, secret } = await call('POST /apps/{id}/keys', { path: { id: app } });
      setSecrets({ ...secrets, [key]: secret });
      reload();
    });
  const isConfigured = value?.source === 'configuration';
  return (
    <div class="page">
      <PageHead
        title="Keys"
        of={app}
        failed={failed}
        says={
          value === undefined
            ? undefined
            : `${counted(value.keys.length, 'key')}. To rotate: add one, move your backends and clients, then remove the old one. The oldest signs webhooks.`
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
      {failed !== undefined && <FailureNotice failed={failed} retry={reload} />}
      {wrong !== undefined && <FailureNotice failed={wrong} />}
      {isConfigured && (
        <Notice level="warn">
          <p>This app is in the configuration file. Change its keys there, then send SIGHUP.</p>
        </Notice>
      )}
      {value !== undefined && (
        <section class="card" aria-label="Keys">
          <table class="table cards">
            <thead>
              <tr>
                <th scope="col">Key</th>
                <th scope="col">Secret</th>
                <th scope="col">
                  <span class="unseen">Actions</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {value.keys.map(({ key }) => (
                <tr key={key}>
                  <td class="name mono">{key}</td>
                  <td class="wide">
                    {secrets[key] === undefined ? (
                      <Button look="slim" disabled={!may('admin')} onClick={() => void show(key)}>
                        Show
                      </Button>
                    ) : (
                      <span class="line-of">
                        <code>{secrets[key]}</code>
                        <CopyButton text={secrets[key] ?? ''} />
                      </span>
                    )}
                  </td>
                  <td class="number">
                    <Button
                      look="slim danger"
                      disabled={isConfigured || value.keys.length === 1 || !may('admin')}
                      onClick={() => setRemoved(key)}
                    >
                      Remove
                    </Button>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
      {removed !== undefined && (
        <Confirm
          title={`Remove the key ${removed}?`}
          typed={removed.slice(0, 6)}
          action="Remove"
          close={() => setRemoved(undefined)}
          act={() =>
            act(async () => {
              await call('DELETE /apps/{id}/keys/{key}', { path: { id: app, key: removed } });
              reload();
            })
          }
        >
          Clients that connect with it are refused, and requests that it signed get 401.
        </Confirm>
      )}
    </div>
  );
}
