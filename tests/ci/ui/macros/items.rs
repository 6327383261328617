//! Errors that the macros report.

mod derive_on_enum {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    #[table(name = "Blogs")]
    enum Blog {
        Draft { text: String },
        Published { text: String, rating: i32 },
    }
}

mod derive_on_tuple_struct {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog(#[table(partition_key)] String, #[table(row_key)] String, i32);
}

mod derive_on_union {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    union Blog {
        text: i32,
        rating: f32,
    }
}

mod derive_on_unit_struct {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog;
}

mod lifetime_parameter {
    use std::borrow::Cow;

    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog<'a> {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        text: Cow<'a, str>,
    }
}

mod set_on_tuple_struct {
    use azure_table_client::client::TableSet;
    use azure_table_client::{DynamicEntity, TableClient};

    #[derive(TableSet)]
    struct Database(TableClient<DynamicEntity>);
}

mod too_many_properties {
    use azure_table_client::TableEntity;

    #[derive(TableEntity)]
    struct Blog {
        #[table(partition_key)]
        channel: String,
        #[table(row_key)]
        id: String,
        p000: bool, p001: bool, p002: bool, p003: bool, p004: bool, p005: bool, p006: bool, p007: bool,
        p008: bool, p009: bool, p010: bool, p011: bool, p012: bool, p013: bool, p014: bool, p015: bool,
        p016: bool, p017: bool, p018: bool, p019: bool, p020: bool, p021: bool, p022: bool, p023: bool,
        p024: bool, p025: bool, p026: bool, p027: bool, p028: bool, p029: bool, p030: bool, p031: bool,
        p032: bool, p033: bool, p034: bool, p035: bool, p036: bool, p037: bool, p038: bool, p039: bool,
        p040: bool, p041: bool, p042: bool, p043: bool, p044: bool, p045: bool, p046: bool, p047: bool,
        p048: bool, p049: bool, p050: bool, p051: bool, p052: bool, p053: bool, p054: bool, p055: bool,
        p056: bool, p057: bool, p058: bool, p059: bool, p060: bool, p061: bool, p062: bool, p063: bool,
        p064: bool, p065: bool, p066: bool, p067: bool, p068: bool, p069: bool, p070: bool, p071: bool,
        p072: bool, p073: bool, p074: bool, p075: bool, p076: bool, p077: bool, p078: bool, p079: bool,
        p080: bool, p081: bool, p082: bool, p083: bool, p084: bool, p085: bool, p086: bool, p087: bool,
        p088: bool, p089: bool, p090: bool, p091: bool, p092: bool, p093: bool, p094: bool, p095: bool,
        p096: bool, p097: bool, p098: bool, p099: bool, p100: bool, p101: bool, p102: bool, p103: bool,
        p104: bool, p105: bool, p106: bool, p107: bool, p108: bool, p109: bool, p110: bool, p111: bool,
        p112: bool, p113: bool, p114: bool, p115: bool, p116: bool, p117: bool, p118: bool, p119: bool,
        p120: bool, p121: bool, p122: bool, p123: bool, p124: bool, p125: bool, p126: bool, p127: bool,
        p128: bool, p129: bool, p130: bool, p131: bool, p132: bool, p133: bool, p134: bool, p135: bool,
        p136: bool, p137: bool, p138: bool, p139: bool, p140: bool, p141: bool, p142: bool, p143: bool,
        p144: bool, p145: bool, p146: bool, p147: bool, p148: bool, p149: bool, p150: bool, p151: bool,
        p152: bool, p153: bool, p154: bool, p155: bool, p156: bool, p157: bool, p158: bool, p159: bool,
        p160: bool, p161: bool, p162: bool, p163: bool, p164: bool, p165: bool, p166: bool, p167: bool,
        p168: bool, p169: bool, p170: bool, p171: bool, p172: bool, p173: bool, p174: bool, p175: bool,
        p176: bool, p177: bool, p178: bool, p179: bool, p180: bool, p181: bool, p182: bool, p183: bool,
        p184: bool, p185: bool, p186: bool, p187: bool, p188: bool, p189: bool, p190: bool, p191: bool,
        p192: bool, p193: bool, p194: bool, p195: bool, p196: bool, p197: bool, p198: bool, p199: bool,
        p200: bool, p201: bool, p202: bool, p203: bool, p204: bool, p205: bool, p206: bool, p207: bool,
        p208: bool, p209: bool, p210: bool, p211: bool, p212: bool, p213: bool, p214: bool, p215: bool,
        p216: bool, p217: bool, p218: bool, p219: bool, p220: bool, p221: bool, p222: bool, p223: bool,
        p224: bool, p225: bool, p226: bool, p227: bool, p228: bool, p229: bool, p230: bool, p231: bool,
        p232: bool, p233: bool, p234: bool, p235: bool, p236: bool, p237: bool, p238: bool, p239: bool,
        p240: bool, p241: bool, p242: bool, p243: bool, p244: bool, p245: bool, p246: bool, p247: bool,
        p248: bool, p249: bool, p250: bool, p251: bool, p252: bool,
    }
}

fn main() {}
