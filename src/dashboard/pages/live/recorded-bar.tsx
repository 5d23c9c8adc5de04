import { useEffect, useRef, useState } from 'preact/hooks';
import { call } from '../../api/client.ts';
import { root } from '../../api/root.ts';
import { channelsAddress } from '../../api/server-facts.ts';
import { may } from '../../api/session.ts';
import { readTextFile } from '../../api/text-file.ts';
import { attempt } from '../../api/use-attempt.ts';
import type { LiveFeed } from '../../live/live-feed.ts';
import { stepsOf } from '../../live/recorded-steps.ts';
import type { Recording } from '../../live/recording.ts';
import type { LiveRecord } from '../../live/records.ts';
import {
  type Progress,
  type RecordedEvent,
  sendAgain,
  sendable,
} from '../../live/sending-again.ts';
import runnerFile from '../../live/steps-runner.txt' with { type: 'file' };
import { Button, Field } from '../../parts/controls.tsx';
import { Confirm } from '../../parts/dialogs/confirm.tsx';
import { download, fileName } from '../../parts/download.ts';
import { count, counted } from '../../parts/formats.ts';
import { Notice } from '../../parts/notices.tsx';
import { sayWhy } from '../../parts/toasts.tsx';
import { apps } from '../../shell/apps.ts';
import { nameOf } from '../../shell/tenants.ts';

interface RecordedBarProps {
  readonly recording: Recording;
  readonly feed: LiveFeed;
  readonly app: string;
  readonly close: () => void;
}

/** Says that the page shows a recording, and offers what can be done with it. */
export function RecordedBar({ recording, feed, app, close }: RecordedBarProps) {
  const [isAsked, setAsked] = useState(false);
  const records = feed.rows.records();
  const found = sendable(records);
  const { isSending, done, start, stop } = useSendingAgain();
  return (
    <>
      <Notice
        level="warn"
        actions={
          <>
            <Button
              look="slim"
              onClick={() => void attempt(() => saveSteps(recording, records, app), sayWhy)}
            >
              Steps for pusher-js
            </Button>
            {may('operator') && found.events.length > 0 && !isSending && (
              <Button look="slim" onClick={() => setAsked(true)}>
                Send again
              </Button>
            )}
            {isSending && (
              <Button look="slim" onClick={stop}>
                Stop sending
              </Button>
            )}
            <Button look="slim" onClick={close}>
              Back to live
            </Button>
          </>
        }
      >
        <p>
          <strong>
            This is a recording{recording.app !== undefined && ` of ${recording.app}`}
          </strong>
          : {recording.name}, {counted(recording.rows.length, 'row')}.
          {recording.unread > 0 && ` ${counted(recording.unread, 'line')} could not be read.`}
        </p>
        {done !== undefined && (
          <p role="status">
            {isSending ? 'Sending' : 'Sent'} {count(done.sent)} of {count(done.of)}
            {done.failed > 0 && `, ${count(done.failed)} failed: ${done.why}`}.
          </p>
        )}
      </Notice>
      {isAsked && (
        <ConfirmSending {...found} app={app} close={() => setAsked(false)} start={start} />
      )}
    </>
  );
}

/** Where to send events, and how many times as fast as they were recorded. */
interface Target {
  readonly app: string;
  readonly speed: number;
}

interface ConfirmSendingProps extends ReturnType<typeof sendable> {
  readonly app: string;
  readonly close: () => void;
  readonly start: (events: readonly RecordedEvent[], target: Target) => Promise<void>;
}

/** Asks where and how fast to send the events. */
function ConfirmSending({ events, leftOut, app, close, start }: ConfirmSendingProps) {
  const target = useRef<Target>({ app, speed: 1 });
  const aim = (change: Partial<Target>) => {
    target.current = { ...target.current, ...change };
  };
  return (
    <Confirm
      title={`Send ${counted(events.length, 'event')} again?`}
      typed={String(events.length)}
      action="Send again"
      close={close}
      act={() => start(events, target.current)}
    >
      <p>
        Subscribers there get them.
        {leftOut > 0 &&
          ` ${count(leftOut)} are left out, because the recording has not all of their data.`}
      </p>
      <div class="pair">
        <Field label="To the app">
          {(given) => (
            <select
              {...given}
              defaultValue={app}
              onChange={({ currentTarget }) => aim({ app: currentTarget.value })}
            >
              {(apps.value ?? []).map((each) => (
                <option key={each.id} value={each.id}>
                  {nameOf(each)}
                </option>
              ))}
            </select>
          )}
        </Field>
        <Field label="Speed">
          {(given) => (
            <select
              {...given}
              onChange={({ currentTarget }) => aim({ speed: Number(currentTarget.value) })}
            >
              <option value="1">as recorded</option>
              <option value="10">10 times as fast</option>
            </select>
          )}
        </Field>
      </div>
    </Confirm>
  );
}

/** Sends events one after the other while the page is open. */
function useSendingAgain() {
  const [done, setDone] = useState<Progress & { readonly of: number }>();
  const [isSending, setSending] = useState(false);
  const stopping = useRef(new AbortController());
  useEffect(() => () => stopping.current.abort(), []);
  const start = async (events: readonly RecordedEvent[], { app, speed }: Target) => {
    const stop = new AbortController();
    stopping.current = stop;
    setSending(true);
    const end = await sendAgain({
      events,
      speed,
      send: ({ name, channel, data }) =>
        call('POST /apps/{id}/events', {
          path: { id: app },
          body: { name, channels: [channel], data },
        }),
      now: () => performance.now(),
      wait: (ms) => waited(ms, stop.signal),
      isStopped: () => stop.signal.aborted,
      progress: (now) => setDone({ ...now, of: events.length }),
    });
    setDone({ ...end, of: events.length });
    setSending(false);
  };
  return { isSending, done, start, stop: () => stopping.current.abort() };
}

function waited(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

async function saveSteps(
  recording: Recording,
  records: readonly LiveRecord[],
  app: string,
): Promise<void> {
  const runner = await readTextFile(runnerFile);
  const target = {
    ...channelsAddress(),
    key: apps.value?.find(({ id }) => id === app)?.keys[0]?.key ?? '',
    app,
    admin: location.origin + root,
  };
  const text = stepsOf(records, target, runner);
  const name = fileName(`steps-${recording.app ?? app}`, 'mjs');
  download(name, new Blob([text], { type: 'text/javascript' }));
}
