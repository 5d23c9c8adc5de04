import { isLong } from '../../../../testing/long-run.ts';
import { worldTests } from '../../world-tests.ts';

worldTests('cluster', {
  usual: 6,
  long: 300,
  deliveries: 50,
  sabotages: {
    'lose-webhook': 'webhooks',
    // The world `threads` shows these in each run.
    ...(isLong && {
      'lose-event': 'arrives',
      'double-event': 'once',
      'swap-events': 'order',
      'ghost-member': 'present',
      'silent-gap': 'resumes',
      'late-answer': 'arrives',
    }),
  },
});

// It takes the latest release from git, whose clone may lack it.
if (isLong) worldTests('upgrade', { long: 300, deliveries: 50, sabotages: {} });
