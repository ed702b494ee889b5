import { initializeSslPinning } from 'react-native-ssl-public-key-pinning';
const BACKUP = 'diGVwiVYbubAI3RW4hB9xU8e/CH2GnkuvVFZE8zmgzI=';
// comment { "x.example.com": ["C5+lpZ7tcVwmwQIMcRtPbsQtWLABXhQzejna0wHFr8M="] }
await initializeSslPinning({
  'api.example.com': {
    includeSubdomains: true,
    publicKeyHashes: ['C5+lpZ7tcVwmwQIMcRtPbsQtWLABXhQzejna0wHFr8M=', BACKUP],
    expirationDate: '2027-12-31',
  },
  "pay.example.com": { publicKeyHashes: [BACKUP] },
} as const);
