import { useState } from 'preact/hooks';
import { type Answer, call, Failed } from '../../api/client.ts';
import { Card } from '../../parts/card.tsx';
import { Button, Field } from '../../parts/controls.tsx';
import { FailureNotice, Notice } from '../../parts/notices.tsx';
import { address } from '../../routing/router.ts';

const fields = [
  { name: 'channel', label: 'Channel', hint: 'private-… or presence-…' },
  { name: 'socketId', label: 'Socket id', hint: '1234.5678, as the client says it' },
  { name: 'auth', label: 'auth', hint: 'KEY:SIGNATURE, as your backend answers it' },
  { name: 'channelData', label: 'channel_data', hint: 'Only for presence channels, unchanged' },
] as const;

type Name = (typeof fields)[number]['name'];

/** Says which part of an authorisation differs, without the secret leaving the server. */
export function AuthorisationDoctor({ app }: { readonly app: string }) {
  const [given, setGiven] = useState<Record<Name, string>>({
    channel: address.value.query['channel'] ?? '',
    socketId: address.value.query['socket'] ?? '',
    auth: '',
    channelData: '',
  });
  const [outcome, setOutcome] = useState<Answer<'POST /apps/{id}/check-auth'> | Failed>();
  const [isAsking, setAsking] = useState(false);
  const failed = outcome instanceof Failed ? outcome : undefined;
  const check = async () => {
    setAsking(true);
    const { channelData, ...rest } = given;
    try {
      setOutcome(
        await call('POST /apps/{id}/check-auth', {
          path: { id: app },
          body: { ...rest, ...(channelData === '' ? {} : { channelData }) },
        }),
      );
    } catch (error) {
      if (!(error instanceof Failed)) throw error;
      setOutcome(error);
    } finally {
      setAsking(false);
    }
  };
  return (
    <Card title="Why is this authorisation refused?">
      <form
        class="inside form"
        onSubmit={(event) => {
          event.preventDefault();
          void check();
        }}
      >
        <div class="pair">
          {fields.map(({ name, label, hint }) => (
            <Field
              key={name}
              label={label}
              hint={hint}
              wrong={failed?.field === name ? failed.message : undefined}
            >
              {(control) => (
                <input
                  {...control}
                  class="input mono"
                  required={name !== 'channelData'}
                  autocomplete="off"
                  spellcheck={false}
                  value={given[name]}
                  onInput={({ currentTarget }) => {
                    setGiven({ ...given, [name]: currentTarget.value });
                  }}
                />
              )}
            </Field>
          ))}
        </div>
        <div class="buttons">
          <Button type="submit" look="primary" disabled={isAsking}>
            Check
          </Button>
          <span class="muted small">The secret stays on the server.</span>
        </div>
        <div role="status">
          {outcome !== undefined && !(outcome instanceof Failed) && (
            <Notice level={outcome.ok ? 'ok' : 'bad'}>
              <p>{outcome.text}</p>
              <p class="advice">
                What must be signed: <code>{outcome.expected.signed}</code>
              </p>
            </Notice>
          )}
        </div>
        {failed !== undefined && failed.field === undefined && <FailureNotice failed={failed} />}
      </form>
    </Card>
  );
}
