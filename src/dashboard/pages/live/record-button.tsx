import { useEffect, useState } from 'preact/hooks';
import type { LiveFeed } from '../../live/live-feed.ts';
import { Recorder } from '../../live/recording.ts';
import { Button } from '../../parts/controls.tsx';
import { download, fileName } from '../../parts/download.ts';
import { bytes, counted, duration } from '../../parts/formats.ts';
import { say } from '../../parts/toasts.tsx';

/** Records what the page shows, for ten minutes at most, and gives the file to the browser. */
export function RecordButton({ feed, app }: { readonly feed: LiveFeed; readonly app: string }) {
  const { value: recorder } = feed.recorder;
  const [, tick] = useState(0);
  const finish = (why: string) => {
    const done = feed.recorder.peek();
    if (done === undefined) return;
    feed.recorder.value = undefined;
    download(fileName(app, 'ndjson'), done.file());
    say(`Recorded ${counted(done.records, 'record')}: ${why}.`);
  };
  useEffect(() => {
    if (recorder === undefined) return undefined;
    const timer = setInterval(() => {
      tick((turn) => turn + 1);
      const over = recorder.over(Date.now());
      if (over !== undefined) finish(over);
    }, 1000);
    return () => clearInterval(timer);
  }, [recorder]);
  // The recording is saved when the user leaves the page.
  useEffect(() => () => finish('the page was left'), [feed]);
  if (recorder === undefined) {
    return (
      <Button
        onClick={() => {
          feed.recorder.value = new Recorder(app, Date.now());
        }}
      >
        Record
      </Button>
    );
  }
  return (
    <Button look="primary" onClick={() => finish('stopped')}>
      Stop · {duration(Date.now() - recorder.startedAtMs)} · {bytes(recorder.bytes)}
    </Button>
  );
}
