import { stackOf } from '../../runtime/error-code.ts';
import { isStoreFault, plainFault, StoreUnavailable } from '../../stores/database/faults.ts';
import type { FromBackground, ToBackground } from '../link/messages.ts';
import { StartFailed, type StartFault } from '../start-failed.ts';
import { Background } from './background.ts';

/**
 * The thread of the background loop, which does everything that uses SQL or a slow network. `server.ts` starts it as
 * a worker. This file dispatches its messages.
 */

declare const self: Worker;

const post = (message: FromBackground) => self.postMessage(message);

let background: Background | undefined;

self.addEventListener('message', ({ data }: MessageEvent<ToBackground>) => {
  switch (data.type) {
    case 'start':
      Background.start(data, post).then(
        (started) => {
          background = started;
        },
        (error: unknown) => post({ type: 'failed', fault: faultOf(error) }),
      );
      return;
    case 'realtime':
      background?.setRealtimeState(data.state, data.channels);
      if (data.state === 'listening') post({ type: 'listening-noted' });
      return;
    case 'reload':
      (background?.reload(data.config, data.tlsFiles) ?? Promise.resolve()).then(() =>
        post({ type: 'reloaded', number: data.number }),
      );
      return;
    case 'stop':
      (background?.stop() ?? Promise.resolve()).then(() => post({ type: 'stopped' }));
      return;
    default:
      background?.receive(0, data);
  }
});

function faultOf(error: unknown): StartFault {
  if (error instanceof StartFailed) return { exitCode: error.exitCode, message: error.message };
  if (error instanceof StoreUnavailable) return { exitCode: 1, message: error.message };
  if (isStoreFault(error)) {
    return { exitCode: 1, message: `The store cannot be used: ${plainFault(error)}` };
  }
  return {
    exitCode: 1,
    message: stackOf(error),
  };
}
