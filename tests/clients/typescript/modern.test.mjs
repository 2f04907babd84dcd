import { modern } from './kinds.mjs';
import { suite } from './suite.mjs';

suite(modern);
