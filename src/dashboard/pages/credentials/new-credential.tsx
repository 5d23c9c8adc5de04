import { useState } from 'preact/hooks';
import { type Answer, call, Failed } from '../../api/client.ts';
import { Code } from '../../parts/code.tsx';
import { Button, Field, TextField } from '../../parts/controls.tsx';
import { FailureNotice, Notice } from '../../parts/notices.tsx';
import { say } from '../../parts/toasts.tsx';
import { type CheckAnswers, CheckResult } from './check-result.tsx';

/** No credential is larger. */
const FILE_BYTES_MAX = 16_384;

const files = {
  apns: { label: 'Key file (.p8)', hint: 'From the Apple developer account, Keys', accept: '.p8' },
  fcm: {
    label: 'Service account (.json)',
    hint: 'From the Firebase console, Project settings, Service accounts',
    accept: '.json,application/json',
  },
} as const;

/** Takes a credential from its file, and keeps it once the gateway has taken it. */
export function NewCredential({
  platform,
  instance,
  done,
}: {
  readonly platform: 'apns' | 'fcm';
  readonly instance: Answer<'GET /instances/{id}'>;
  readonly done: () => void;
}) {
  const [text, setText] = useState('');
  const [ids, setIds] = useState({
    teamId: instance.apns?.teamId ?? '',
    keyId: instance.apns?.keyId ?? '',
  });
  const [environment, setEnvironment] = useState<'production' | 'sandbox' | 'auto'>(
    instance.apns?.environment ?? 'production',
  );
  const [outcome, setOutcome] = useState<CheckAnswers | Failed | 'asking'>();
  if (instance.source === 'configuration') return <InFile platform={platform} id={instance.id} />;

  const path = { id: instance.id };
  const credential =
    platform === 'apns'
      ? { apns: { ...ids, environment, privateKey: text } }
      : { fcm: { serviceAccount: text } };
  const act = async (action: () => Promise<void>) => {
    setOutcome('asking');
    try {
      await action();
    } catch (error) {
      if (!(error instanceof Failed)) throw error;
      setOutcome(error);
    }
  };
  const keep = async () => {
    await call('PATCH /instances/{id}', { path, body: credential });
    say('Kept. It is used from now on.');
    done();
  };
  const check = async () => {
    const body = { platform, ...credential };
    const { answers } = await call('POST /instances/{id}/gateways/check', { path, body });
    if (answers.every(({ result }) => result === 'accepted')) return await keep();
    setOutcome(answers);
  };
  const answers = Array.isArray(outcome) ? (outcome as CheckAnswers) : undefined;
  const failed = outcome instanceof Failed ? outcome : undefined;
  const { label, hint, accept } = files[platform];
  return (
    <form
      class="form"
      aria-label="New credential"
      onSubmit={(event) => {
        event.preventDefault();
        void act(check);
      }}
    >
      <Field label={label} hint={hint}>
        {(given) => (
          <input
            {...given}
            type="file"
            required
            accept={accept}
            onChange={({ currentTarget }) => {
              const [file] = currentTarget.files ?? [];
              setOutcome(undefined);
              setText('');
              if (file === undefined) return;
              if (file.size > FILE_BYTES_MAX) {
                setOutcome(new Failed(0, 'No credential is that large: this is another file.'));
                return;
              }
              // Apple names the file after the key.
              const keyId = /^AuthKey_(\w{10})\.p8$/.exec(file.name)?.[1];
              if (keyId !== undefined) setIds({ ...ids, keyId });
              void file.text().then(setText);
            }}
          />
        )}
      </Field>
      {platform === 'apns' && (
        <div class="pair">
          {(['teamId', 'keyId'] as const).map((name) => (
            <TextField
              key={name}
              label={name === 'teamId' ? 'Team id' : 'Key id'}
              required
              value={ids[name]}
              write={(text) => setIds({ ...ids, [name]: text })}
            />
          ))}
          <Field label="Service of Apple">
            {(given) => (
              <select
                {...given}
                value={environment}
                onChange={({ currentTarget: { value } }) => {
                  setEnvironment(value as typeof environment);
                }}
              >
                <option>production</option>
                <option>sandbox</option>
                <option>auto</option>
              </select>
            )}
          </Field>
        </div>
      )}
      <div class="buttons">
        <Button type="submit" look="primary" disabled={text === '' || outcome === 'asking'}>
          Check and keep
        </Button>
        {answers !== undefined && !answers.some(({ result }) => result === 'refused') && (
          <Button onClick={() => void act(keep)}>Keep it without an answer</Button>
        )}
        <span class="muted small">It is never shown again.</span>
      </div>
      <div role="status">
        {outcome === 'asking' && <p class="muted">Asking the gateway …</p>}
        {answers !== undefined && <CheckResult platform={platform} answers={answers} />}
      </div>
      {failed !== undefined && <FailureNotice failed={failed} />}
    </form>
  );
}

/** Settings of the configuration file are changed there. */
function InFile({ platform, id }: { readonly platform: 'apns' | 'fcm'; readonly id: string }) {
  const setting =
    platform === 'apns'
      ? 'apns: { teamId: TEAM-ID, keyId: KEY-ID, privateKeyFile: AuthKey.p8 }'
      : 'fcm: { serviceAccountFile: service-account.json }';
  return (
    <>
      <Notice level="warn">
        This instance is in the configuration file. Change it there, then send SIGHUP.
      </Notice>
      <Code label="What to write" text={`push:\n  instances:\n    - id: ${id}\n      ${setting}`} />
    </>
  );
}
