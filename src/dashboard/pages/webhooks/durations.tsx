import { useState } from 'preact/hooks';
import type { WebhookEndpoint } from '../../api/answers.ts';
import { Bars } from '../../parts/charts/plots.tsx';
import { Button } from '../../parts/controls.tsx';
import { Dialog } from '../../parts/dialogs/dialog.tsx';
import { type Durations, within } from './within.ts';

/** The durations of attempts in one line. Opens a view with bars and a table. */
export function DurationWords({
  url,
  durations,
}: {
  readonly url: string;
  readonly durations: WebhookEndpoint['durations'];
}) {
  const [isOpen, setOpen] = useState(false);
  const half = within(durations, 0.5);
  if (half === undefined) return <span class="muted">–</span>;
  return (
    <>
      <Button look="slim" onClick={() => setOpen(true)}>
        half {wordsFor(half)}, 95 % {wordsFor(within(durations, 0.95) ?? null)}
      </Button>
      {isOpen && (
        <Dialog label={`How long ${url} took`} close={() => setOpen(false)}>
          <Bars
            title="Attempts by how long they took"
            names={['Attempts']}
            bars={labelled(durations)}
          />
        </Dialog>
      )}
    </>
  );
}

function labelled(durations: Durations) {
  return durations.map(({ upToMs, attempts }) => ({
    label: upToMs === null ? 'longer' : shortly(upToMs),
    value: attempts,
  }));
}

function wordsFor(upToMs: number | null): string {
  return upToMs === null ? 'over 10 s' : shortly(upToMs);
}

function shortly(ms: number): string {
  return ms < 1000 ? `${ms} ms` : `${ms / 1000} s`;
}
