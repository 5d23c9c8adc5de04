import { worldTests } from './world-tests.ts';

worldTests('store', {
  usual: 8,
  long: 2_000,
  sabotages: { 'lose-webhook': 'webhooks', 'lose-answered': 'pushes' },
});

// A long run lets each call fail in each way.
worldTests('every-call', { usual: 4, long: 900, sabotages: {} });
