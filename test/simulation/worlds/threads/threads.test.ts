import { worldTests } from '../../world-tests.ts';

worldTests('threads', {
  long: 1_000,
  deliveries: 50,
  sabotages: {
    'lose-event': 'arrives',
    'double-event': 'once',
    'swap-events': 'order',
    'ghost-member': 'present',
    'silent-gap': 'resumes',
    'late-answer': 'arrives',
    'lose-message': 'arrives',
    'lose-webhook': 'webhooks',
  },
});
