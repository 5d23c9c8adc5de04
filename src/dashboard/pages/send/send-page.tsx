import { asCurl, asFanfare } from '../../api/command.ts';
import { PageHead } from '../../parts/page-head.tsx';
import { channelsIn, sendDraft } from './draft.ts';
import { SendForm } from './send-form.tsx';

/** Does an event arrive? */
export default function SendPage({ app }: { readonly app: string }) {
  return (
    <div class="page">
      <PageHead
        title="Send"
        of={app}
        says="Send an event as a backend would, and see how many connections receive it."
        commands={[
          { name: 'curl', text: () => curlOf(app) },
          { name: 'fanfare', text: () => commandOf(app) },
        ]}
      />
      <SendForm app={app} />
    </div>
  );
}

function curlOf(app: string): string {
  const { channel, event, data } = sendDraft.value;
  return asCurl('POST /apps/{id}/events', {
    path: { id: app },
    body: { name: event, channels: channelsIn(channel), data },
  });
}

function commandOf(app: string): string {
  const { channel, event, data } = sendDraft.value;
  return asFanfare(['send', app, channelsIn(channel)[0] ?? '', event, data]);
}
