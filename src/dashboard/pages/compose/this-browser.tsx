import { useEffect, useRef, useState } from 'preact/hooks';
import { call, failedOf } from '../../api/client.ts';
import { may } from '../../api/session.ts';
import {
  type BrowserDevice,
  becomeDevice,
  knownDevice,
  leaveDevice,
  shownAfter,
  whyNoDevice,
} from '../../client/browser-device.ts';
import { Card } from '../../parts/card.tsx';
import { Button } from '../../parts/controls.tsx';
import { count } from '../../parts/formats.ts';
import { Notice } from '../../parts/notices.tsx';
import { useOutcome } from '../../parts/use-outcome.ts';
import { inInstance, pathTo } from '../../routing/router.ts';
import { draft } from './draft.ts';

const WAIT_MS = 60_000;

/** Proves the round trip without another device: this browser registers, gets the draft, and shows it. */
export function ThisBrowser({ instance }: { readonly instance: string }) {
  const { device, isBusy, sent, failed, become, send, leave } = useThisBrowser(instance);
  const whyNot = whyNoDevice();
  return (
    <Card title="This browser">
      <div class="inside stack tight">
        {whyNot !== undefined ? (
          <p class="muted">{whyNot}</p>
        ) : device === undefined ? (
          <>
            <p>Make this browser a device, and send the draft to it alone.</p>
            <div class="buttons">
              <Button disabled={isBusy} onClick={become}>
                Make this browser a device
              </Button>
            </div>
          </>
        ) : (
          <>
            <p>This browser is a device of the instance.</p>
            <div class="buttons">
              <Button
                icon="send"
                disabled={isBusy || !may('operator')}
                onClick={() => send(device)}
              >
                Send to this browser
              </Button>
              <Button disabled={isBusy} onClick={() => leave(device)}>
                Remove it
              </Button>
            </div>
          </>
        )}
        <div role="status">
          {sent !== undefined && (
            <p>
              {sent.says}{' '}
              <a href={pathTo(inInstance(instance, 'publishes', sent.id))}>See the publish</a>
            </p>
          )}
        </div>
        {failed !== undefined && <Notice level="bad">{failed.message}</Notice>}
      </div>
    </Card>
  );
}

/** This browser as a device of an instance, and the last publish that was sent to it. */
function useThisBrowser(instance: string) {
  const [device, setDevice] = useState<BrowserDevice>();
  const [sent, setSent] = useState<{ readonly id: string; readonly says: string }>();
  const { failed, isBusy, attempt, setOutcome } = useOutcome();
  const stopping = useRef(new AbortController());
  useEffect(() => {
    void knownDevice(instance).then(setDevice);
    return () => stopping.current.abort();
  }, [instance]);

  const act = (action: () => Promise<void>) => {
    setOutcome(undefined);
    void attempt(() => action().catch(refused));
  };
  const become = () => act(async () => setDevice(await becomeDevice(instance)));
  const send = ({ interest }: BrowserDevice) =>
    act(async () => {
      const { web = { notification: { title: 'Hello', body: 'It works' } } } = draft.value;
      const { publishId: id } = await call('POST /instances/{id}/publishes', {
        path: { id: instance },
        body: { interests: [interest], web },
      });
      setSent({ id, says: 'Sent. Waiting for the browser to show it …' });
      const signal = AbortSignal.any([stopping.current.signal, AbortSignal.timeout(WAIT_MS)]);
      const ms = await shownAfter(id, signal);
      const says =
        ms === undefined
          ? 'The browser has shown nothing for a minute.'
          : `Shown after ${count(ms)} ms. Click it, and the publish counts it as opened.`;
      setSent({ id, says });
    });
  const leave = (left: BrowserDevice) =>
    act(async () => {
      await leaveDevice(instance, left);
      setDevice(undefined);
    });
  return { device, isBusy, sent, failed, become, send, leave };
}

/** The browser may refuse an action, too. */
function refused(error: unknown): never {
  throw failedOf(error);
}
