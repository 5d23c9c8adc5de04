import type { Device } from '../../api/answers.ts';
import { duration, moment } from '../../parts/formats.ts';
import { Table } from '../../parts/table-head.tsx';
import { inInstance, pathTo } from '../../routing/router.ts';
import { platformNames } from '../publishes/words.ts';

/** The beginning of an id, enough to distinguish it. */
export const shortDeviceId = (id: string) => `${id.split('-', 2).join('-')}…`;

/** Devices, each with whose it is and whether it can be reached. */
export function DeviceTable({
  instance,
  devices,
}: {
  readonly instance: string;
  readonly devices: readonly Device[];
}) {
  const nowMs = Date.now();
  return (
    <Table
      columns={['Device', 'Platform', 'Its gateway', { number: 'Registered' }, { number: 'Seen' }]}
    >
      {devices.map(
        ({ id, platform, kind, userId, client, accepted, pausedUntil, registeredAt, seenAt }) => (
          <tr key={id}>
            <td class="name">
              <div class="cut">
                <a class="mono" href={pathTo(inInstance(instance, 'devices', id))}>
                  {id}
                </a>
              </div>
              <div class="cut muted small">{[userId, client].filter(Boolean).join(' · ')}</div>
            </td>
            <td>
              <span class="tag">{platformNames[platform]}</span>
              {kind !== null && <div class="muted small">{kind}</div>}
            </td>
            <td>
              {pausedUntil !== null ? (
                <span class="tag warn">paused until {moment(pausedUntil)}</span>
              ) : accepted ? (
                <span class="tag ok">accepts it</span>
              ) : (
                <span class="tag">never accepted it</span>
              )}
            </td>
            <td class="number" data-label="registered">
              {moment(registeredAt)}
            </td>
            <td class="number" data-label="seen">
              {duration(nowMs - Date.parse(seenAt))} ago
            </td>
          </tr>
        ),
      )}
    </Table>
  );
}
