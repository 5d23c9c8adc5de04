import { useState } from 'preact/hooks';
import type { DeviceDetails } from '../../api/answers.ts';
import { call, type Failed } from '../../api/client.ts';
import { may } from '../../api/session.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { Button } from '../../parts/controls.tsx';
import { Confirm } from '../../parts/dialogs/confirm.tsx';
import { duration, moment } from '../../parts/formats.ts';
import { FailureNotice, Notice } from '../../parts/notices.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { say } from '../../parts/toasts.tsx';
import { useOutcome } from '../../parts/use-outcome.ts';
import { Words } from '../../parts/words.tsx';
import { inInstance, pathTo } from '../../routing/router.ts';
import { instances } from '../../shell/instances.ts';
import { platformNames } from '../publishes/words.ts';
import { Registered } from './device-facts.tsx';
import { Explained, Publishes } from './device-publishes.tsx';
import { shortDeviceId } from './device-table.tsx';

interface DevicePageProps {
  readonly instance: string;
  readonly device: string;
}

/** Who accepts a token. */
const gatewayNames = { apns: 'Apple', fcm: 'FCM', web: 'The push service' } as const;

/** The part of the id that must be typed to remove the device. */
const TYPED = 12;

/** Why did this device not get it? */
export default function DevicePage({ instance, device }: DevicePageProps) {
  const path = { id: instance, device };
  const { value, failed, reload } = useAnswer('GET /instances/{id}/devices/{device}', { path });
  const { failed: wrong, attempt } = useOutcome();
  const [isRemoving, setRemoving] = useState(false);
  const remove = async () => {
    await call('DELETE /instances/{id}/devices/{device}', { path });
    say('Removed.');
    reload();
  };
  const known = failed === undefined ? value : undefined;
  return (
    <div class="page">
      <PageHead
        title={`Device ${shortDeviceId(device)}`}
        of={instances.nameOfId(instance)}
        failed={failed}
        says={known && sentence(known)}
        actions={
          known?.registered != null && (
            <>
              <Button onClick={reload}>Refresh</Button>
              {may('admin') && (
                <Button look="danger" onClick={() => setRemoving(true)}>
                  Remove
                </Button>
              )}
            </>
          )
        }
      />
      <Missing {...{ instance, device, failed, reload }} />
      <FailureNotice failed={wrong} />
      {known !== undefined && (
        <>
          {known.removed !== null && <Removed removed={known.removed} device={device} />}
          <Explained instance={instance} device={device} />
          <Publishes instance={instance} device={device} />
          {known.registered !== null && (
            <Registered instance={instance} device={known.registered} />
          )}
        </>
      )}
      {isRemoving && (
        <Confirm
          title="Remove this device?"
          typed={device.slice(0, TYPED)}
          action="Remove"
          act={() => attempt(remove)}
          close={() => setRemoving(false)}
        >
          It gets no more notifications, and its interests are lost. If it is still in use, it
          registers again with another id.
        </Confirm>
      )}
    </div>
  );
}

interface MissingProps extends DevicePageProps {
  readonly failed: Failed | undefined;
  readonly reload: () => void;
}

/** Why the device is not shown, if it is not. */
function Missing({ instance, device, failed, reload }: MissingProps) {
  if (failed?.status !== 404) return <FailureNotice failed={failed} retry={reload} />;
  return (
    <Notice
      level="warn"
      actions={
        <a class="button" href={pathTo(inInstance(instance, 'devices'))}>
          All devices
        </a>
      }
    >
      <p>{failed.message}.</p>
      <p class="mono muted">{device}</p>
    </Notice>
  );
}

function Removed({
  removed: { why, advice },
  device,
}: {
  readonly removed: NonNullable<DeviceDetails['removed']>;
  readonly device: string;
}) {
  return (
    <Notice level="bad">
      <p>
        The server removed it: <Words text={why} />.
      </p>
      {advice !== null && (
        <p class="advice">
          <Words text={advice} />
        </p>
      )}
      <p class="mono muted">{device}</p>
    </Notice>
  );
}

function sentence({ registered, removed, platform, registeredAt }: DeviceDetails): string {
  const name = platformNames[platform];
  if (registered === null) {
    return `${name}, registered ${moment(registeredAt)}, removed ${removed === null ? '' : moment(removed.at)}.`;
  }
  const { accepted, userId, seenAt } = registered;
  const whose = userId === null ? 'of no user' : `of ${userId}`;
  const seen = duration(Date.now() - Date.parse(seenAt));
  const gateway = gatewayNames[platform];
  const reached = accepted
    ? `${gateway} accepts its token`
    : `${gateway} has never accepted its token: nothing was sent to it yet, or the token is wrong`;
  return `${reached}. Registered ${moment(registeredAt)}, ${whose}, seen ${seen} ago.`;
}
