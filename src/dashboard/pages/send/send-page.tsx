import { apiUrl } from '../../api/client.ts';
import { CopyButton } from '../../parts/controls.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { sendDraft } from './draft.ts';
import { SendForm } from './send-form.tsx';

/** Does an event arrive? */
export default function SendPage({ app }: { readonly app: string }) {
  return (
    <div class="page">
      <PageHead
        title="Send"
        of={app}
        says="Send an event as a backend would, and see how many connections receive it."
        actions={
          <>
            <CopyButton look="" text={() => asCurl(app)}>
              curl
            </CopyButton>
            <CopyButton look="" text={() => asCommand(app)}>
              Command
            </CopyButton>
          </>
        }
      />
      <SendForm app={app} />
    </div>
  );
}

function asCurl(app: string): string {
  const { channel, event, data } = sendDraft.value;
  const body = JSON.stringify({ name: event, channels: [channel], data });
  const url = `${location.origin}${apiUrl('/apps/{id}/events', { id: app })}`;
  return `curl -u :PASSWORD -H 'Content-Type: application/json' -d ${quoted(body)} ${quoted(url)}`;
}

function asCommand(app: string): string {
  const { channel, event, data } = sendDraft.value;
  return `npx fanfare send ${[app, channel, event, data].map(quoted).join(' ')}`;
}

/** A word for a shell. */
function quoted(text: string): string {
  return /^[\w.:/-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
