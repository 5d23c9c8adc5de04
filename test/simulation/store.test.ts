import { worldTests } from './world-tests.ts';

worldTests('store', {
  long: 2_000,
  deliveries: 0,
  sabotages: {
    'lose-webhook': 'webhooks',
    'double-webhook': 'webhooks',
    'lose-answered': 'pushes',
  },
});

// A long run lets each call fail in each way.
worldTests('every-call', { usual: 4, long: 540, deliveries: 0, sabotages: {} });
