import { useRef, useState } from 'preact/hooks';
import type { PublishPreview } from '../../api/answers.ts';
import { call } from '../../api/client.ts';
import { may } from '../../api/session.ts';
import { Button } from '../../parts/controls.tsx';
import { Confirm } from '../../parts/dialogs/confirm.tsx';
import { counted } from '../../parts/formats.ts';
import { FailureNotice, Notice } from '../../parts/notices.tsx';
import { useOutcome } from '../../parts/use-outcome.ts';
import { go, inInstance } from '../../routing/router.ts';
import { draft } from './draft.ts';

/** From how many devices on the number must be typed. */
const MANY = 100;

/** Sends the draft, unless the server would refuse it. */
export function SendDraft({
  instance,
  preview,
}: {
  readonly instance: string;
  readonly preview: PublishPreview | undefined;
}) {
  const { failed, isBusy, attempt } = useOutcome();
  const [isAsking, setAsking] = useState(false);
  // The same draft is sent once, also if the answer to the first click was lost.
  const key = useRef({ of: '', value: '' });
  const { devices = 0, more = false } = preview?.audience ?? {};
  const send = () =>
    attempt(async () => {
      const text = JSON.stringify(draft.value);
      if (key.current.of !== text) key.current = { of: text, value: newKey() };
      const { publishId } = await call('POST /instances/{id}/publishes', {
        path: { id: instance },
        query: { idempotencyKey: key.current.value },
        body: draft.value,
      });
      go(inInstance(instance, 'publishes', publishId));
    });
  const isScheduled = ['sendAt', 'sendAtLocal'].some((name) => draft.value[name] !== undefined);
  const to = `${more ? 'more than ' : ''}${counted(devices, 'device')}`;
  const isReady = preview !== undefined && preview.faults.length === 0;
  return (
    <>
      <Faults preview={preview} />
      <div class="buttons">
        <Button
          look="primary"
          icon="send"
          disabled={!isReady || isBusy || !may('operator')}
          onClick={() => {
            if (devices >= MANY) setAsking(true);
            else void send();
          }}
        >
          {isScheduled ? 'Schedule' : 'Send'}
          {isReady ? ` ${isScheduled ? 'for' : 'to'} ${to}` : ''}
        </Button>
        {!may('operator') && <span class="muted small">Sending takes the role operator.</span>}
      </div>
      <FailureNotice failed={failed} />
      {isAsking && (
        <Confirm
          title={`Send to ${to}?`}
          typed={String(devices)}
          action={`Send to ${to}`}
          close={() => setAsking(false)}
          act={send}
        >
          Nobody can take back a notification that a device has shown.
        </Confirm>
      )}
    </>
  );
}

/** Pages without TLS have no `randomUUID`. */
function newKey(): string {
  return [...crypto.getRandomValues(new Uint32Array(4))].join('-');
}

function Faults({ preview }: { readonly preview: PublishPreview | undefined }) {
  const faults = preview?.faults ?? [];
  if (faults.length === 0) return null;
  return (
    <Notice level="bad">
      <p>The server would refuse it.</p>
      <ul>
        {faults.map(({ field, rule }) => (
          <li key={field + rule}>
            <code>{field}</code> {rule}
          </li>
        ))}
      </ul>
    </Notice>
  );
}
