import { useState } from 'preact/hooks';
import type { ChannelHistory } from '../../api/answers.ts';
import { call } from '../../api/client.ts';
import { asFanfare } from '../../api/command.ts';
import { may } from '../../api/session.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { Card } from '../../parts/card.tsx';
import { Button, CopyButton } from '../../parts/controls.tsx';
import { Confirm } from '../../parts/dialogs/confirm.tsx';
import { bytes, counted, duration, preciseTime } from '../../parts/formats.ts';
import { Table } from '../../parts/table-head.tsx';
import { say } from '../../parts/toasts.tsx';

const POLL_MS = 5000;

/** What would a client get that comes back? */
export function History({ app, channel }: { readonly app: string; readonly channel: string }) {
  const [isForgetting, setForgetting] = useState(false);
  const path = { id: app, name: channel };
  const { value, reload } = useAnswer(
    'GET /apps/{id}/channels/{name}/history',
    { path },
    { everyMs: POLL_MS },
  );
  if (value?.rule == null) return null;
  return (
    <Card
      title="History"
      aside={
        <>
          <span class="muted small">{sentence(value)}</span>
          <div class="buttons">
            <CopyButton look="for-keys" text={() => asFanfare(['history', app, channel])}>
              fanfare
            </CopyButton>
            {may('operator') && value.events.length > 0 && (
              <Button onClick={() => setForgetting(true)}>Forget</Button>
            )}
          </div>
        </>
      }
    >
      {value.events.length > 0 && <Events events={value.events} />}
      {isForgetting && (
        <Confirm
          title="Forget the history of this channel?"
          typed={channel}
          action="Forget"
          close={() => setForgetting(false)}
          act={async () => {
            await call('DELETE /apps/{id}/channels/{name}/history', { path });
            say('Forgotten.');
            reload();
          }}
        >
          Every client that comes back learns of a gap.
        </Confirm>
      )}
    </Card>
  );
}

function Events({ events }: Pick<ChannelHistory, 'events'>) {
  return (
    <Table columns={['At', 'Event', 'Data', 'A client gets after it']}>
      {events.map(({ id, atMs, name, data, bytes: size }, missed) => (
        <tr key={id}>
          <td class="mono moment" title={id}>
            {preciseTime(atMs)}
          </td>
          <td class="name">
            <div class="cut">{name}</div>
          </td>
          <td class="wide">
            <div class="cut mono muted">{data ?? bytes(size)}</div>
          </td>
          <td data-label="a client gets after it">{counted(missed, 'event')}</td>
        </tr>
      ))}
    </Table>
  );
}

function sentence({ rule, events, more }: ChannelHistory): string {
  const kept = `Up to ${counted(rule?.events ?? 0, 'event')} for ${duration((rule?.seconds ?? 0) * 1000)}.`;
  if (events.length === 0) return `${kept} None now.`;
  return more ? `${kept} The last ${events.length} are shown.` : kept;
}
