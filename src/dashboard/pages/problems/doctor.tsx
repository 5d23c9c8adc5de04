import { useState } from 'preact/hooks';
import type { CheckedAuthorisation } from '../../api/answers.ts';
import { call, type Failed } from '../../api/client.ts';
import { Card } from '../../parts/card.tsx';
import { Button, Field } from '../../parts/controls.tsx';
import { FailureNotice, Notice } from '../../parts/notices.tsx';
import { useOutcome } from '../../parts/use-outcome.ts';
import { address } from '../../routing/router.ts';

const fields = [
  { name: 'channel', label: 'Channel', hint: 'private-… or presence-…' },
  { name: 'socketId', label: 'Socket id', hint: '1234.5678, as the client says it' },
  { name: 'auth', label: 'auth', hint: 'KEY:SIGNATURE, as your backend answers it' },
  { name: 'channelData', label: 'channel_data', hint: 'Only for presence channels, unchanged' },
] as const;

type Given = Readonly<Record<(typeof fields)[number]['name'], string>>;

/** Says which part of an authorisation differs, without the secret leaving the server. */
export function AuthorisationDoctor({ app }: { readonly app: string }) {
  const { channel = '', socket = '' } = address.value.query;
  const [given, setGiven] = useState<Given>({
    channel,
    socketId: socket,
    auth: '',
    channelData: '',
  });
  const { answer, failed, isBusy, attempt, setOutcome } = useOutcome<CheckedAuthorisation>();
  const check = async () => {
    const { channelData, ...rest } = given;
    const body = { ...rest, ...(channelData === '' ? {} : { channelData }) };
    setOutcome(await call('POST /apps/{id}/check-auth', { path: { id: app }, body }));
  };
  return (
    <Card title="Why is this authorisation refused?">
      <form
        class="inside form"
        onSubmit={(event) => {
          event.preventDefault();
          void attempt(check);
        }}
      >
        <AuthorisationFields given={given} write={setGiven} failed={failed} />
        <div class="buttons">
          <Button type="submit" look="primary" disabled={isBusy}>
            Check
          </Button>
          <span class="muted small">The secret stays on the server.</span>
        </div>
        <div role="status">
          {answer !== undefined && (
            <Notice level={answer.ok ? 'ok' : 'bad'}>
              <p>{answer.text}</p>
              <p class="advice">
                What must be signed: <code>{answer.expected.signed}</code>
              </p>
            </Notice>
          )}
        </div>
        {failed?.field === undefined && <FailureNotice failed={failed} />}
      </form>
    </Card>
  );
}

function AuthorisationFields({
  given,
  write,
  failed,
}: {
  readonly given: Given;
  readonly write: (given: Given) => void;
  readonly failed: Failed | undefined;
}) {
  return (
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
              onInput={({ currentTarget: { value } }) => write({ ...given, [name]: value })}
            />
          )}
        </Field>
      ))}
    </div>
  );
}
