import { useState } from 'preact/hooks';
import type { Instance } from '../../api/answers.ts';
import { call, Failed } from '../../api/client.ts';
import { Code } from '../../parts/code.tsx';
import { Button, Field, TextField } from '../../parts/controls.tsx';
import { FailureNotice, Notice } from '../../parts/notices.tsx';
import { say } from '../../parts/toasts.tsx';
import { useOutcome } from '../../parts/use-outcome.ts';
import { type CheckAnswers, CheckResult } from './check-result.tsx';

type Environment = 'production' | 'sandbox' | 'auto';

/** What Apple needs besides the key. */
interface AppleFields {
  readonly teamId: string;
  readonly keyId: string;
  readonly environment: Environment;
}

interface NewCredentialProps {
  readonly platform: 'apns' | 'fcm';
  readonly instance: Instance;
  readonly done: () => void;
}

/** No credential is larger. */
const FILE_BYTES_MAX = 16_384;
const tooLarge = new Failed(0, 'No credential is that large: this is another file.');

const files = {
  apns: { label: 'Key file (.p8)', hint: 'From the Apple developer account, Keys', accept: '.p8' },
  fcm: {
    label: 'Service account (.json)',
    hint: 'From the Firebase console, Project settings, Service accounts',
    accept: '.json,application/json',
  },
} as const;

/** Takes a credential from its file, and keeps it once the gateway has taken it. */
export function NewCredential({ platform, instance, done }: NewCredentialProps) {
  const [text, setText] = useState('');
  const [apple, setApple] = useState(appleFieldsOf(instance));
  const { answer: answers, failed, isBusy, attempt, setOutcome } = useOutcome<CheckAnswers>();
  if (instance.source === 'configuration') return <InFile platform={platform} id={instance.id} />;

  const path = { id: instance.id };
  const credential =
    platform === 'apns'
      ? { apns: { ...apple, privateKey: text } }
      : { fcm: { serviceAccount: text } };
  const act = (action: () => Promise<void>) => {
    setOutcome(undefined);
    void attempt(action);
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
  const take = (file: File | undefined) => {
    setText('');
    const isTooLarge = file !== undefined && file.size > FILE_BYTES_MAX;
    setOutcome(isTooLarge ? tooLarge : undefined);
    if (file === undefined || isTooLarge) return;
    // Apple names the file after the key.
    const keyId = /^AuthKey_(\w{10})\.p8$/.exec(file.name)?.[1];
    if (keyId !== undefined) setApple({ ...apple, keyId });
    void file.text().then(setText);
  };
  return (
    <form
      class="form"
      aria-label="New credential"
      onSubmit={(event) => {
        event.preventDefault();
        act(check);
      }}
    >
      <FileField platform={platform} take={take} />
      {platform === 'apns' && <AppleFieldset fields={apple} write={setApple} />}
      <div class="buttons">
        <Button type="submit" look="primary" disabled={text === '' || isBusy}>
          Check and keep
        </Button>
        {answers !== undefined && !answers.some(({ result }) => result === 'refused') && (
          <Button onClick={() => act(keep)}>Keep it without an answer</Button>
        )}
        <span class="muted small">It is never shown again.</span>
      </div>
      <div role="status">
        {isBusy && <p class="muted">Asking the gateway …</p>}
        {answers !== undefined && <CheckResult platform={platform} answers={answers} />}
      </div>
      <FailureNotice failed={failed} />
    </form>
  );
}

function appleFieldsOf({ apns }: Instance): AppleFields {
  const { teamId = '', keyId = '', environment = 'production' } = apns ?? {};
  return { teamId, keyId, environment };
}

function FileField({
  platform,
  take,
}: {
  readonly platform: NewCredentialProps['platform'];
  readonly take: (file: File | undefined) => void;
}) {
  const { label, hint, accept } = files[platform];
  return (
    <Field label={label} hint={hint}>
      {(given) => (
        <input
          {...given}
          type="file"
          required
          accept={accept}
          onChange={({ currentTarget }) => take(currentTarget.files?.[0])}
        />
      )}
    </Field>
  );
}

function AppleFieldset({
  fields,
  write,
}: {
  readonly fields: AppleFields;
  readonly write: (fields: AppleFields) => void;
}) {
  return (
    <div class="pair">
      {(['teamId', 'keyId'] as const).map((name) => (
        <TextField
          key={name}
          label={name === 'teamId' ? 'Team id' : 'Key id'}
          required
          value={fields[name]}
          write={(text) => write({ ...fields, [name]: text })}
        />
      ))}
      <Field label="Service of Apple">
        {(given) => (
          <select
            {...given}
            value={fields.environment}
            onChange={({ currentTarget: { value } }) => {
              write({ ...fields, environment: value as Environment });
            }}
          >
            <option>production</option>
            <option>sandbox</option>
            <option>auto</option>
          </select>
        )}
      </Field>
    </div>
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
